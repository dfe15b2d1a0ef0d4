from __future__ import annotations

import hashlib
import io
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inference_dna.canonical import Refused
from inference_dna.files import FileEntry
from inference_dna.measure.reading import AHEAD_CHUNK_BYTES, CHUNK_BYTES, open_regular, read_content, reading_errors


class Disturbed(io.FileIO):
    """A file to which something happens after the first piece of it was read."""

    def __init__(self, path: Path, disturb: Callable[[Path], object]) -> None:
        super().__init__(path)
        self._path, self._disturb, self._reads = path, disturb, 0

    def readinto(self, buffer: Any, /) -> int:
        count = super().readinto(buffer) or 0
        self._reads += 1
        if self._reads == 1:
            self._disturb(self._path)
        return count


def append(path: Path) -> None:
    with path.open("ab") as stream:
        stream.write(b"more")


def overwrite(path: Path) -> None:
    with path.open("r+b") as stream:
        stream.write(b"B")


def put_back_the_time(path: Path) -> None:
    before = path.stat()
    overwrite(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace(path: Path) -> None:
    (path.parent / "new").write_bytes(b"other")
    (path.parent / "new").replace(path)


@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES, CHUNK_BYTES + 1, 5 * AHEAD_CHUNK_BYTES + 7])
@pytest.mark.parametrize("ahead", [False, True])
def test_a_file_is_hashed_whole(tmp_path: Path, size: int, ahead: bool) -> None:
    content = os.urandom(size)
    path = tmp_path / "a.bin"
    path.write_bytes(content)

    with path.open("rb") as stream:
        read = read_content(stream, "a.bin", keep=True, ahead=ahead)

    assert read.entry == FileEntry("a.bin", size, hashlib.sha256(content).hexdigest())
    assert read.kept == content


def test_bytes_are_held_only_where_they_are_wanted(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"weights")

    with (tmp_path / "a.bin").open("rb") as stream:
        stream.read(3)
        read = read_content(stream, "a.bin", keep=False)

    assert read.kept is None
    assert read.entry.sha256 == hashlib.sha256(b"weights").hexdigest()


def test_what_the_system_cannot_read_is_refused_with_its_name(tmp_path: Path) -> None:
    refused = pytest.raises(Refused, match=r"^Reading the file 'a\.bin' failed: No such file or directory\.$")

    with refused, reading_errors("the file 'a.bin'"):
        (tmp_path / "a.bin").open("rb")


@pytest.mark.parametrize("disturb", [append, overwrite, put_back_the_time])
@pytest.mark.parametrize("ahead", [False, True])
def test_a_file_that_changes_while_it_is_read_is_refused(
    tmp_path: Path, disturb: Callable[[Path], object], ahead: bool
) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"A" * 10)
    os.utime(path, ns=(10**18, 10**18))

    with Disturbed(path, disturb) as stream, pytest.raises(Refused, match=r"'a\.bin' changed while it was read"):
        read_content(stream, "a.bin", keep=False, ahead=ahead)


def test_a_file_deleted_under_its_path_is_noticed_by_its_change_time(tmp_path: Path) -> None:
    """Another file under the same path does not count, but losing its name moves the descriptor's own ctime."""
    path = tmp_path / "a.bin"
    path.write_bytes(b"A" * 10)
    os.utime(path, ns=(10**18, 10**18))

    with Disturbed(path, replace) as stream, pytest.raises(Refused, match="changed"):
        read_content(stream, "a.bin", keep=False)


def test_pieces_are_told_as_they_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(2 * CHUNK_BYTES + 5))
    told: list[int] = []

    with (tmp_path / "a.bin").open("rb") as stream:
        read_content(stream, "a.bin", keep=False, on_bytes=told.append)

    assert told == [CHUNK_BYTES, CHUNK_BYTES, 5]


def test_a_fifo_is_refused_without_waiting_for_its_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "model.safetensors")

    with pytest.raises(Refused, match="is no regular file"):
        open_regular(tmp_path / "model.safetensors", "model.safetensors")


def test_a_link_put_in_the_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"x")
    (tmp_path / "a.bin").symlink_to("secret")

    with pytest.raises(OSError, match="symbolic links"):
        open_regular(tmp_path / "a.bin", "a.bin")


@pytest.mark.parametrize("ahead", [False, True])
def test_what_the_watcher_raises_ends_the_reading(tmp_path: Path, ahead: bool) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(6 * AHEAD_CHUNK_BYTES))
    before = threading.active_count()

    def stop(_: int) -> None:
        raise KeyError

    with (tmp_path / "a.bin").open("rb") as stream, pytest.raises(KeyError):
        read_content(stream, "a.bin", keep=False, on_bytes=stop, ahead=ahead)
    assert threading.active_count() == before


class Failing(io.FileIO):
    """A file on a disk that fails."""

    def readinto(self, buffer: Any, /) -> int:
        raise OSError(5, "Input/output error")


@pytest.mark.parametrize("ahead", [False, True])
def test_a_disk_that_fails_is_told(tmp_path: Path, ahead: bool) -> None:
    (tmp_path / "a.bin").write_bytes(b"x")

    refused = pytest.raises(Refused, match="Input/output error")
    with refused, reading_errors("the file 'a.bin'"), Failing(tmp_path / "a.bin") as stream:
        read_content(stream, "a.bin", keep=False, ahead=ahead)
