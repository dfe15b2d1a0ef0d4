"""Reads one file whole, sure that it did not change meanwhile (dna.md section 3, provenance.md section 2)."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import BinaryIO, cast

from inference_dna.canonical import Refused
from inference_dna.files import FileEntry

CHUNK_BYTES = 256 * 1024
"""Small enough to stay in a core's cache between reading and hashing, large enough that `hashlib` gives up the lock."""

AHEAD_CHUNK_BYTES = 4 * 1024 * 1024
"""Larger, for here each piece costs two threads a handshake."""
_AHEAD_CHUNKS = 3

OnBytes = Callable[[int], object]
"""Told how many bytes were just read, from whichever thread read them."""


@dataclass(frozen=True, slots=True)
class Content:
    """A file that was read: its entry, and its bytes where the caller wants to load exactly what was hashed."""

    entry: FileEntry
    kept: bytes | None


@dataclass(frozen=True, slots=True)
class FileState:
    """What a descriptor is open on: device, inode, size in bytes, mtime and ctime in nanoseconds.

    Two equal states are one file that nobody wrote to in between, as far as the file system tells.
    """

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


def open_regular(path: Path, name: str) -> BinaryIO:
    """Open a regular file for reading, following no link and waiting for nobody.

    Args:
        path: Where its content lies, links already resolved.
        name: Its name in the model folder, for the sentence.

    Raises:
        Refused: It is no regular file (any more): a FIFO put in its place would otherwise be waited for.
        OSError: It cannot be opened.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    stream = cast("BinaryIO", os.fdopen(descriptor, "rb"))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        stream.close()
        raise Refused(f"The entry {name!a} is no regular file; devices, sockets and FIFOs have no digest.")
    return stream


def read_content(
    stream: BinaryIO, name: str, *, keep: bool, on_bytes: OnBytes | None = None, ahead: bool = False
) -> Content:
    """Hash an open file from its beginning.

    Args:
        stream: The file, open for reading in binary.
        name: Its name in the model folder.
        keep: Whether to hold the bytes.
        on_bytes: Told of every piece; what it raises ends the reading.
        ahead: Whether a second thread reads the next pieces meanwhile; worth it where a core has nothing else to do.

    Raises:
        Refused: The file changed while it was read.
    """
    hasher, kept = sha256(), bytearray()
    with steady(stream, name) as size, closing(chunks_ahead(stream) if ahead else chunks(stream)) as pieces:
        for chunk in pieces:
            hasher.update(chunk)
            if keep:
                kept += chunk
            if on_bytes is not None:
                on_bytes(len(chunk))
    return Content(FileEntry(name, size, hasher.hexdigest()), bytes(kept) if keep else None)


def chunks(stream: BinaryIO) -> Generator[memoryview]:
    """Give a file from its beginning, piece by piece; each piece is valid until the next one is asked for."""
    buffer = memoryview(bytearray(CHUNK_BYTES))
    stream.seek(0)
    # One buffer filled again and again: a new one for each piece costs a tenth of the hashing.
    while count := read_into(stream, buffer):
        yield buffer[:count]


def chunks_ahead(stream: BinaryIO) -> Generator[memoryview]:
    """As `chunks`, while another thread reads what comes next."""
    free, full = SimpleQueue[memoryview | None](), SimpleQueue[tuple[memoryview, int] | OSError]()
    for _ in range(_AHEAD_CHUNKS):
        free.put(memoryview(bytearray(AHEAD_CHUNK_BYTES)))
    stream.seek(0)
    reader = Thread(target=_read_ahead, args=(stream, free, full), name="read-ahead", daemon=True)
    reader.start()
    try:
        while piece := _next_piece(full):
            yield piece[0][: piece[1]]
            free.put(piece[0])
    finally:
        free.put(None)
        reader.join()


def read_into(stream: BinaryIO, buffer: memoryview) -> int:
    """Fill a buffer as far as one read does; 0 at the end of the file."""
    return cast("io.BufferedIOBase", stream).readinto(buffer)


def _read_ahead(
    stream: BinaryIO, free: SimpleQueue[memoryview | None], full: SimpleQueue[tuple[memoryview, int] | OSError]
) -> None:
    while (buffer := free.get()) is not None:
        try:
            count = read_into(stream, buffer)
        except OSError as error:  # raised again by the thread that waits for the piece
            full.put(error)
            return
        full.put((buffer, count))
        if not count:
            return


def _next_piece(full: SimpleQueue[tuple[memoryview, int] | OSError]) -> tuple[memoryview, int] | None:
    piece = full.get()
    if isinstance(piece, OSError):
        raise piece
    return piece if piece[1] else None


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
    before = file_state(stream)
    yield before.size
    check_unchanged(stream, name, before)


def file_state(stream: BinaryIO) -> FileState:
    """The state of the descriptor itself: another file under the same path does not count."""
    status = os.fstat(stream.fileno())
    return FileState(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def check_unchanged(stream: BinaryIO, name: str, before: FileState) -> None:
    """Refuse a file that is not in the state it was in.

    Raises:
        Refused: As said.
    """
    if file_state(stream) != before:
        raise Refused(f"The file {name!a} changed while it was read.")
