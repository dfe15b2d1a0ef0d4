from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from inference_dna.canonical import Refused
from inference_dna.measure.hashing import SMALL_BYTES, Hashed, Stopped, Task, hash_files, run_all
from inference_dna.measure.listing import Found
from inference_dna.measure.reading import FileState, OnBytes, file_state
from inference_dna.measure.work import Done, Tally, Work


def written(path: Path, size: int) -> Task:
    path.write_bytes(os.urandom(size))
    return Task(Found(path.name, path, size))


def digests(done: dict[str, Hashed]) -> dict[str, str]:
    return {name: hashed.content.entry.sha256 for name, hashed in done.items()}


@pytest.mark.parametrize("threads", [1, 2, 9])
def test_every_file_has_its_own_digest_in_the_order_asked_for(tmp_path: Path, threads: int) -> None:
    tasks = [written(tmp_path / f"{n}.bin", n * SMALL_BYTES // 2) for n in range(6)]

    done = hash_files(tasks, Work(threads))

    assert list(done) == [f"{n}.bin" for n in range(6)]
    assert digests(done) == {
        task.found.name: hashlib.sha256(task.found.path.read_bytes()).hexdigest() for task in tasks
    }


def test_bytes_are_kept_where_they_are_wanted(tmp_path: Path) -> None:
    task = written(tmp_path / "a.bin", 100)
    kept = hash_files([Task(task.found, keep=True)], Work())["a.bin"].content.kept

    assert kept == task.found.path.read_bytes()
    assert hash_files([task], Work())["a.bin"].content.kept is None


def job(name: int, order: list[int]) -> Callable[[OnBytes], None]:
    return lambda _: order.append(name)


def test_small_files_go_first_and_then_the_largest() -> None:
    order: list[int] = []
    sizes = [SMALL_BYTES + 5, 10, SMALL_BYTES * 9, 3, SMALL_BYTES, SMALL_BYTES - 1]

    run_all([(size, job(size, order)) for size in sizes], 1, Tally(1, None))

    assert order == [3, 10, SMALL_BYTES - 1, SMALL_BYTES * 9, SMALL_BYTES + 5, SMALL_BYTES]


def test_the_first_failure_stops_what_is_still_running() -> None:
    """A shard of hours must not be hashed to its end when the configuration beside it is refused."""
    running, ended = threading.Event(), []

    def fails(_: OnBytes) -> None:
        running.wait()
        raise Refused("The small file is wrong.")

    def long(on_bytes: OnBytes) -> None:
        running.set()
        try:
            while True:
                on_bytes(1)
        except Stopped:
            ended.append("stopped")
            raise

    with pytest.raises(Refused, match="The small file"):
        run_all([(1, fails), (SMALL_BYTES, long)], 2, Tally(1, None))
    assert ended == ["stopped"]


def test_jobs_that_did_not_begin_never_begin() -> None:
    order: list[int] = []

    def fails(_: OnBytes) -> None:
        raise Refused("No.")

    with pytest.raises(Refused):
        run_all([(0, fails), *((SMALL_BYTES + n, job(n, order)) for n in range(1000))], 1, Tally(1, None))
    assert order == []


def test_the_watcher_sees_the_whole_and_the_end(tmp_path: Path) -> None:
    seen: list[Done] = []
    tasks = [written(tmp_path / f"{n}.bin", SMALL_BYTES * 2) for n in range(3)]

    hash_files(tasks, Work(2, watch=seen.append))

    assert {done.total for done in seen} == {6 * SMALL_BYTES}
    assert [done.done for done in seen] == sorted({done.done for done in seen})
    assert seen[-1].done == 6 * SMALL_BYTES
    assert {done.what for done in seen} == {"files"}


def test_many_pieces_are_told_a_thousand_times_at_most() -> None:
    seen: list[Done] = []
    tally = Tally(10_000, seen.append)
    for _ in range(10_000):
        tally.add(1)

    assert 900 < len(seen) <= 1001


def state_of(path: Path) -> FileState:
    with path.open("rb") as stream:
        return file_state(stream)


def test_a_file_that_changed_since_it_was_looked_into_is_refused(tmp_path: Path) -> None:
    task = written(tmp_path / "a.bin", 100)
    seen = state_of(task.found.path)
    assert hash_files([Task(task.found, seen=seen)], Work())

    (tmp_path / "b.bin").write_bytes(task.found.path.read_bytes())
    (tmp_path / "b.bin").replace(task.found.path)

    with pytest.raises(Refused, match=r"'a\.bin' changed while the model was measured"):
        hash_files([Task(task.found, seen=seen)], Work())


def test_a_file_that_is_gone_is_refused_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"'a\.bin' failed: No such file"):
        hash_files([Task(Found("a.bin", tmp_path / "a.bin", 3))], Work())


def test_a_model_larger_than_memory_is_hashed_all_the_same(tmp_path: Path) -> None:
    """Its files are told to leave the memory behind them: each would only push out the one before."""
    small = written(tmp_path / "a.bin", 5000)
    claims_much = Task(Found("a.bin", small.found.path, 2**60))

    assert digests(hash_files([claims_much], Work())) == digests(hash_files([small], Work()))


def test_reading_ahead_changes_no_digest(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(os.urandom(1024) * (65 * 1024))
    done = hash_files([Task(Found("a.bin", path, path.stat().st_size))], Work())

    assert digests(done) == {"a.bin": hashlib.sha256(path.read_bytes()).hexdigest()}
