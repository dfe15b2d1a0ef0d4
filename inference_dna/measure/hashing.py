"""Hashes many files at once (provenance.md section 2).

Small files go first, in order of size: most drift shows there, and a model that is refused is refused early. Then the
largest, or one large file would still be hashed by one core when all others are done.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from dataclasses import dataclass
from threading import Event
from typing import TypeVar

from inference_dna.canonical import Refused
from inference_dna.files import FileEntry
from inference_dna.measure.digest_cache import DigestCache
from inference_dna.measure.listing import Found
from inference_dna.measure.reading import (
    Content,
    FileState,
    OnBytes,
    check_unchanged,
    file_state,
    open_regular,
    read_content,
    reading_errors,
)
from inference_dna.measure.work import Tally, Work, usable_cores

SMALL_BYTES = 1024 * 1024
_AHEAD_FROM_BYTES = 64 * 1024 * 1024

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Task:
    """A file to hash, whether its bytes are wanted, and the state it was seen in before, where somebody looked."""

    found: Found
    keep: bool = False
    seen: FileState | None = None


@dataclass(frozen=True, slots=True)
class Hashed:
    """A file that was hashed now, or whose digest was known from an earlier time (`cached`)."""

    content: Content
    cached: bool


@dataclass(frozen=True, slots=True)
class _How:
    """Whether another thread reads ahead in large files, and whether what was read may leave the memory again."""

    ahead: bool
    forget: bool


class Stopped(Exception):
    """Raised in a thread whose result nobody wants any more."""


def hash_files(tasks: Sequence[Task], work: Work) -> dict[str, Hashed]:
    """Hash files on several threads.

    Args:
        tasks: What to hash; names are different.
        work: How.

    Returns:
        Results by name, in the order of the tasks.

    Raises:
        Refused: A file cannot be read, or changed while it was read or since it was seen. The first refusal ends all.
    """
    tally = Tally(sum(task.found.size for task in tasks), work.watch)
    how = _How(ahead=_has_idle_cores(tasks, work.thread_count), forget=_is_larger_than_memory(tasks))
    jobs = [(task.found.size, _job(task, work, how)) for task in tasks]
    with work.cache.turn() if work.cache is not None and _has_news(tasks, work.cache) else nullcontext():
        done = run_all(jobs, work.thread_count, tally)
    by_name = {hashed.content.entry.name: hashed for hashed in done}
    return {task.found.name: by_name[task.found.name] for task in tasks}


def run_all(jobs: Iterable[tuple[int, Callable[[OnBytes], _Result]]], threads: int, tally: Tally) -> list[_Result]:
    """Run jobs by size, small ones first and then the largest; the first failure stops the others.

    Args:
        jobs: Bytes that each will read, and the job; it is handed what to tell of every piece.
        threads: How many run at a time.
        tally: Who counts.

    Raises:
        Exception: What the first job that failed raised.
    """
    stop = Event()
    with ThreadPoolExecutor(threads, "hash") as pool:
        futures = [
            pool.submit(_until_stopped, job, stop, tally) for _, job in sorted(jobs, key=lambda each: _turn(each[0]))
        ]
        try:
            return _results(futures)
        finally:
            stop.set()  # also where the caller is interrupted: nobody waits for a shard that is not wanted any more


def _turn(size: int) -> tuple[bool, int]:
    return size >= SMALL_BYTES, size if size < SMALL_BYTES else -size


def _until_stopped(job: Callable[[OnBytes], _Result], stop: Event, tally: Tally) -> _Result:
    """Run a job that ends at its next piece once another one failed."""

    def on_bytes(count: int) -> None:
        if stop.is_set():
            raise Stopped
        tally.add(count)

    on_bytes(0)
    try:
        return job(on_bytes)
    except BaseException:
        stop.set()
        raise


def _results(futures: Sequence[Future[_Result]]) -> list[_Result]:
    ended = list(as_completed(futures))
    failed = [error for future in ended if (error := future.exception()) is not None]
    cause = next((error for error in failed if not isinstance(error, Stopped)), None)
    if cause is not None:
        raise cause
    return [future.result() for future in ended]


def _has_news(tasks: Iterable[Task], cache: DigestCache) -> bool:
    """Say whether a large file is not known yet: only then is another process worth waiting for."""
    for task in tasks:
        if not _usable(task, task.found.size):
            continue
        with reading_errors(f"the file {task.found.name!a}"), open_regular(task.found.path, task.found.name) as stream:
            if cache.look_up(stream, file_state(stream)) is None:
                return True
    return False


def _usable(task: Task, size: int) -> bool:
    """Say whether the cache may answer: not for bytes that are wanted, and a small file is hashed as fast as found."""
    return not task.keep and size >= SMALL_BYTES


def _has_idle_cores(tasks: Iterable[Task], threads: int) -> bool:
    """Say whether each large file can have two cores, one that reads and one that hashes."""
    large = sum(task.found.size >= _AHEAD_FROM_BYTES for task in tasks)
    return 2 * large <= min(usable_cores(), threads)


def _is_larger_than_memory(tasks: Iterable[Task]) -> bool:
    """Hashing brings files into memory for the load that follows, unless each would only push out the one before."""
    return sum(task.found.size for task in tasks) > os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _job(task: Task, work: Work, how: _How) -> Callable[[OnBytes], Hashed]:
    return lambda on_bytes: _hash(task, work, on_bytes, how)


def _hash(task: Task, work: Work, on_bytes: OnBytes, how: _How) -> Hashed:
    name = task.found.name
    with reading_errors(f"the file {name!a}"), open_regular(task.found.path, name) as stream:
        state = file_state(stream)
        if task.seen not in (None, state):
            raise Refused(f"The file {name!a} changed while the model was measured.")
        cache = work.cache if _usable(task, state.size) else None
        known = cache.look_up(stream, state) if cache is not None else None
        if known is not None:
            on_bytes(state.size)
            return Hashed(Content(FileEntry(name, state.size, known), None), cached=True)
        started_s = cache.now() if cache is not None else 0.0
        ahead = how.ahead and state.size >= _AHEAD_FROM_BYTES
        content = read_content(stream, name, keep=task.keep, on_bytes=on_bytes, ahead=ahead)
        check_unchanged(stream, name, state)
        if how.forget and hasattr(os, "posix_fadvise"):
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        if cache is not None:
            cache.store(stream, state, content.entry.sha256, started_s=started_s)
        return Hashed(content, cached=False)
