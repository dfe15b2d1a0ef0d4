from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from inference_dna.canonical import Refused
from inference_dna.files import FileEntry
from inference_dna.measure.reading import CHUNK_BYTES, read_content, reading_errors


class Disturbed(io.FileIO):
    """A file to which something happens after the first piece of it was read."""

    def __init__(self, path: Path, disturb: Callable[[Path], object]) -> None:
        super().__init__(path)
        self._path, self._disturb, self._reads = path, disturb, 0

    def read(self, size: int | None = -1, /) -> bytes:
        piece = super().read(size) or b""
        self._reads += 1
        if self._reads == 1:
            self._disturb(self._path)
        return piece


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


@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES, CHUNK_BYTES + 1])
def test_a_file_is_hashed_whole(tmp_path: Path, size: int) -> None:
    content = os.urandom(size)
    path = tmp_path / "a.bin"
    path.write_bytes(content)

    with path.open("rb") as stream:
        read = read_content(stream, "a.bin", keep=True)

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
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path, disturb: Callable[[Path], object]) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"A" * 10)
    os.utime(path, ns=(10**18, 10**18))

    with Disturbed(path, disturb) as stream, pytest.raises(Refused, match=r"'a\.bin' changed while it was read"):
        read_content(stream, "a.bin", keep=False)


def test_a_file_deleted_under_its_path_is_noticed_by_its_change_time(tmp_path: Path) -> None:
    """Another file under the same path does not count, but losing its name moves the descriptor's own ctime."""
    path = tmp_path / "a.bin"
    path.write_bytes(b"A" * 10)
    os.utime(path, ns=(10**18, 10**18))

    with Disturbed(path, replace) as stream, pytest.raises(Refused, match="changed"):
        read_content(stream, "a.bin", keep=False)
