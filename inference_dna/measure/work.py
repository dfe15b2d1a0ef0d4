"""How hashing is done. Nothing here can change a digest: threads, who watches, what is known from before."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from inference_dna.measure.digest_cache import DigestCache

_LEAST_THREADS, _MOST_THREADS = 4, 32
_STEPS = 1000


@dataclass(frozen=True, slots=True)
class Done:
    """How far the hashing of one model is, in bytes; `what` is `files`, or `tensors` on a second way through them."""

    done: int
    total: int
    what: str = "files"


Watch = Callable[[Done], object]
"""Told now and then, a thousand times at most, by one thread at a time."""


def default_threads() -> int:
    """One thread per core this process may use; a few more on small machines, for a disk answers several at once."""
    return min(_MOST_THREADS, max(_LEAST_THREADS, usable_cores()))


def usable_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class Work:
    """Threads that hash, who is told of progress, digests known from before, and whether tensors are hashed too."""

    threads: int = 0
    watch: Watch | None = None
    cache: DigestCache | None = None
    tensors: bool = False

    @property
    def thread_count(self) -> int:
        """The number asked for, or the machine's own for 0."""
        return self.threads or default_threads()


class Tally:
    """Counts bytes over all threads and tells the watcher each time a thousandth more is done."""

    def __init__(self, total: int, watch: Watch | None, *, what: str = "files") -> None:
        self._total, self._watch, self._what = total, watch, what
        self._done, self._told, self._lock = 0, -1, Lock()

    def add(self, count: int) -> None:
        """So many more bytes are done."""
        if self._watch is None:
            return
        with self._lock:
            self._done += count
            step = self._done * _STEPS // max(self._total, 1)
            if step > self._told:
                self._told = step
                self._watch(Done(self._done, self._total, self._what))
