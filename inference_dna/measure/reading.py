"""Reads one file whole, sure that it did not change meanwhile (dna.md section 3, provenance.md section 2)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import BinaryIO

from inference_dna.canonical import Refused
from inference_dna.files import FileEntry

CHUNK_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Content:
    """A file that was read: its entry, and its bytes where the caller wants to load exactly what was hashed."""

    entry: FileEntry
    kept: bytes | None


def read_content(stream: BinaryIO, name: str, *, keep: bool) -> Content:
    """Hash an open file from its beginning.

    Args:
        stream: The file, open for reading in binary.
        name: Its name in the model folder.
        keep: Whether to hold the bytes.

    Raises:
        Refused: The file changed while it was read.
    """
    hasher, kept = sha256(), bytearray()
    with steady(stream, name) as size:
        stream.seek(0)
        while chunk := stream.read(CHUNK_BYTES):
            hasher.update(chunk)
            if keep:
                kept += chunk
    return Content(FileEntry(name, size, hasher.hexdigest()), bytes(kept) if keep else None)


@contextmanager
def reading_errors(what: str) -> Iterator[None]:
    """Turn the operating system's failures into ours, at this border only.

    Args:
        what: What is being read, for the sentence: `the file 'model.onnx'`.
    """
    try:
        yield
    except OSError as error:
        raise Refused(f"Reading {what} failed: {error.strerror}.") from error


@contextmanager
def steady(stream: BinaryIO, name: str) -> Iterator[int]:
    """Give the size of an open file and refuse it if the file changed by the end of the block."""
    before = _state(stream)
    yield before[0]
    if _state(stream) != before:
        raise Refused(f"The file {name!a} changed while it was read.")


def _state(stream: BinaryIO) -> tuple[int, int, int]:
    """Size, mtime and ctime of the descriptor itself: another file under the same path does not count."""
    status = os.fstat(stream.fileno())
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns
