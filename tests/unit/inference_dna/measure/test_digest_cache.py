from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from inference_dna.canonical import Refused
from inference_dna.measure import digest_cache
from inference_dna.measure.digest_cache import EXPIRES_S, RACY_S, DigestCache, open_cache
from inference_dna.measure.hashing import SMALL_BYTES, Task, hash_files
from inference_dna.measure.listing import Found
from inference_dna.measure.reading import file_state
from inference_dna.measure.work import Work

STAGED = "0123456789abcdef" * 4
"""A digest that no file has: whoever gives it got it from the cache."""


class Clock:
    """Wall time that the test moves."""

    def __init__(self) -> None:
        self.now_s = time.time() + 60

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.bin"
    path.write_bytes(os.urandom(SMALL_BYTES))
    return path


@pytest.fixture
def opened(tmp_path: Path, clock: Clock) -> Callable[[], DigestCache]:
    return lambda: open_cache(tmp_path / "cache", clock)


def store(cache: DigestCache, path: Path, digest: str = STAGED, *, started_s: float | None = None) -> None:
    with path.open("rb") as stream:
        cache.store(stream, file_state(stream), digest, started_s=cache.now() if started_s is None else started_s)


def look_up(cache: DigestCache, path: Path) -> str | None:
    with path.open("rb") as stream:
        return cache.look_up(stream, file_state(stream))


def rewrite(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)


def keep_the_time(change: Callable[[Path], None]) -> Callable[[Path], None]:
    def changed(path: Path) -> None:
        before = path.stat()
        change(path)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    return changed


def replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    other.replace(path)


def test_a_digest_is_known_to_the_next_process_and_under_another_path(
    opened: Callable[[], DigestCache], file: Path
) -> None:
    store(opened(), file)
    assert look_up(opened(), file) == STAGED

    linked = file.with_name("linked")
    linked.symlink_to(file)
    assert look_up(opened(), linked) == STAGED


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(rewrite, id="rewritten"),
        pytest.param(keep_the_time(rewrite), id="rewritten-and-its-time-put-back"),
        pytest.param(keep_the_time(replace), id="replaced-by-a-copy"),
        pytest.param(lambda path: os.utime(path, ns=(1, 1)), id="touched"),
        pytest.param(lambda path: path.chmod(0o600), id="another-mode"),
    ],
)
def test_a_file_to_which_anything_happened_is_not_known(
    opened: Callable[[], DigestCache], file: Path, change: Callable[[Path], None]
) -> None:
    store(opened(), file)
    change(file)

    assert look_up(opened(), file) is None


def test_a_file_that_changed_just_now_is_not_remembered(
    opened: Callable[[], DigestCache], file: Path, clock: Clock
) -> None:
    clock.now_s = file.stat().st_ctime + RACY_S - 0.1
    store(opened(), file)
    assert look_up(opened(), file) is None

    clock.now_s = file.stat().st_ctime + RACY_S + 0.1
    store(opened(), file)
    assert look_up(opened(), file) == STAGED


def test_a_file_that_changed_after_hashing_began_is_not_remembered(
    opened: Callable[[], DigestCache], file: Path
) -> None:
    cache = opened()
    store(cache, file, started_s=file.stat().st_ctime - 1)

    assert look_up(cache, file) is None


def test_a_file_whose_time_lies_ahead_is_not_remembered(opened: Callable[[], DigestCache], file: Path) -> None:
    os.utime(file, (2**33, 2**33))
    store(opened(), file)

    assert look_up(opened(), file) is None


def test_an_entry_expires_and_leaves_the_file(
    opened: Callable[[], DigestCache], tmp_path: Path, file: Path, clock: Clock
) -> None:
    store(opened(), file)
    clock.now_s += EXPIRES_S + 1
    assert look_up(opened(), file) is None

    other = tmp_path / "other.bin"
    other.write_bytes(b"x")
    store(opened(), other)
    assert len(json.loads((tmp_path / "cache" / "digests.json").read_text())["entries"]) == 1


def test_an_entry_from_the_future_is_not_believed(opened: Callable[[], DigestCache], file: Path, clock: Clock) -> None:
    store(opened(), file)
    clock.now_s -= 10

    assert look_up(opened(), file) is None


def test_what_lies_in_the_cache_is_private(opened: Callable[[], DigestCache], tmp_path: Path, file: Path) -> None:
    store(opened(), file)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "cache").iterdir()}

    assert modes == {"key": 0o600, "digests.json": 0o600, "lock": 0o600}
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o700


def forged(text: str) -> str:
    return text.replace(STAGED, "f" * 64)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(forged, id="another-digest"),
        pytest.param(lambda text: text.replace('"mac":"', '"mac":"0'), id="another-code"),
        pytest.param(lambda text: text.replace("stat-cache", "stat-cachf"), id="another-format"),
        pytest.param(lambda text: text[:50], id="cut"),
        pytest.param(lambda text: "", id="empty"),
        pytest.param(lambda text: "[]", id="a-list"),
    ],
)
def test_what_was_written_by_somebody_else_is_not_believed_and_said_so(
    opened: Callable[[], DigestCache], tmp_path: Path, file: Path, change: Callable[[str], str]
) -> None:
    store(opened(), file)
    entries = tmp_path / "cache" / "digests.json"
    entries.write_text(change(entries.read_text()))
    cache = opened()

    assert look_up(cache, file) is None
    assert any("not believed" in note for note in cache.notes)

    store(cache, file)
    assert look_up(opened(), file) == STAGED


@pytest.mark.parametrize("key", ["key", "machine"])
def test_a_cache_of_another_host_is_not_believed(
    opened: Callable[[], DigestCache], tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    (tmp_path / "machine-id").write_text("one")
    monkeypatch.setattr(digest_cache, "_MACHINE_ID", tmp_path / "machine-id")
    store(opened(), file)
    if key == "key":
        (tmp_path / "cache" / "key").write_bytes(os.urandom(32))
    else:
        (tmp_path / "machine-id").write_text("two")

    assert look_up(opened(), file) is None


@pytest.mark.parametrize(("name", "mode"), [("", 0o777), ("", 0o720), ("key", 0o666), ("key", 0o620)])
def test_a_cache_that_others_may_write_is_refused(
    opened: Callable[[], DigestCache], tmp_path: Path, name: str, mode: int
) -> None:
    opened()
    (tmp_path / "cache" / name).chmod(mode)

    with pytest.raises(Refused, match="is not private"):
        opened()


def test_entries_that_others_may_write_are_not_believed(
    opened: Callable[[], DigestCache], tmp_path: Path, file: Path
) -> None:
    store(opened(), file)
    (tmp_path / "cache" / "digests.json").chmod(0o666)

    assert look_up(opened(), file) is None


def test_a_link_in_the_place_of_the_cache_is_refused(opened: Callable[[], DigestCache], tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "cache").symlink_to("elsewhere")

    with pytest.raises(Refused, match="is not private"):
        opened()


def test_half_a_key_is_refused(opened: Callable[[], DigestCache], tmp_path: Path) -> None:
    opened()
    (tmp_path / "cache" / "key").write_bytes(b"short")

    with pytest.raises(Refused, match="is damaged; delete it"):
        opened()


def test_nothing_is_remembered_where_attributes_cannot_be_believed(
    opened: Callable[[], DigestCache], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = opened()
    store(cache, file)
    monkeypatch.setattr(digest_cache, "BELIEVED", frozenset[str]())

    assert look_up(cache, file) is None
    assert any("not remembered on file systems of type" in note for note in cache.notes)


def task(file: Path) -> Task:
    return Task(Found(file.name, file, file.stat().st_size))


def test_hashing_uses_what_is_known_and_says_so(opened: Callable[[], DigestCache], file: Path) -> None:
    first = hash_files([task(file)], Work(cache=opened()))["model.bin"]
    second = hash_files([task(file)], Work(cache=opened()))["model.bin"]
    rewrite(file)
    third = hash_files([task(file)], Work(cache=opened()))["model.bin"]

    assert [first.cached, second.cached, third.cached] == [False, True, False]
    assert first.content == second.content != third.content
    assert third.content.entry.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()


def test_small_files_and_wanted_bytes_are_always_read(opened: Callable[[], DigestCache], tmp_path: Path) -> None:
    small, wanted = tmp_path / "small", tmp_path / "wanted"
    small.write_bytes(b"x")
    wanted.write_bytes(bytes(SMALL_BYTES))
    for path in (small, wanted):
        store(opened(), path)

    done = hash_files([task(small), Task(task(wanted).found, keep=True)], Work(cache=opened()))

    assert done["small"].content.entry.sha256 == hashlib.sha256(b"x").hexdigest()
    assert done["wanted"].content.entry.sha256 == hashlib.sha256(bytes(SMALL_BYTES)).hexdigest()


def test_a_cache_that_vanishes_costs_nothing_but_speed(
    opened: Callable[[], DigestCache], tmp_path: Path, file: Path
) -> None:
    cache = opened()
    shutil.rmtree(tmp_path / "cache")
    done = hash_files([task(file)], Work(cache=cache))["model.bin"]

    assert not done.cached
    assert done.content.entry.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    assert any("could not be remembered" in note for note in cache.notes)


def test_an_entry_of_another_form_is_not_believed(opened: Callable[[], DigestCache], file: Path) -> None:
    store(opened(), file, "no digest")
    cache = opened()

    assert look_up(cache, file) is None
    assert any("another form" in note for note in cache.notes)


def test_what_cannot_be_written_is_said(opened: Callable[[], DigestCache], tmp_path: Path, file: Path) -> None:
    cache = opened()
    (tmp_path / "cache" / "digests.json").mkdir()
    store(cache, file)

    assert look_up(cache, file) is None
    assert any("could not be remembered" in note for note in cache.notes)


HASHES = """
import sys, time
from pathlib import Path
from inference_dna.measure.digest_cache import open_cache
from inference_dna.measure.hashing import Task, hash_files
from inference_dna.measure.listing import Found
from inference_dna.measure.work import Work
file = Path(sys.argv[1])
cache = open_cache(Path(sys.argv[2]), lambda: time.time() + 60)
print("ready", flush=True)
sys.stdin.readline()
done = hash_files([Task(Found("m", file, file.stat().st_size))], Work(cache=cache))
print(done["m"].cached, done["m"].content.entry.sha256)
"""


def test_of_processes_that_start_together_one_hashes(tmp_path: Path) -> None:
    file = tmp_path / "model.bin"
    file.write_bytes(bytes(64 * SMALL_BYTES))
    command = [sys.executable, "-c", HASHES, str(file), str(tmp_path / "cache")]
    started = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    for each in started:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    said = [each.communicate("go\n")[0].split() for each in started]

    assert sorted(cached for cached, _ in said) == ["False", "True", "True", "True"]
    assert len({digest for _, digest in said}) == 1
