"""A `.tar.gz` that is the same bytes every time, and a reader that trusts nothing in one.

What makes other archives differ is left out: times, owners, modes and order are fixed, the gzip header has no name and
no time. The data is stored, not compressed: every compressor is free to choose other bytes for the same content, and
Python builds bring different ones.
"""

from __future__ import annotations

import io
import struct
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from typing import IO, cast

from inference_dna.canonical import Refused, first_repeated
from inference_dna.files import check_name

MAX_BYTES = 256 * 1024 * 1024
"""Largest content that is unpacked; the tokenizer files of one model are a tenth of it."""

_GZIP_HEADER = bytes((0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255))
"""Magic, method deflate, no flags, no time, no extra flags, unknown operating system (RFC 1952 section 2.3)."""
_STORED_BYTES = 65535
"""Longest stored block of deflate (RFC 1951 section 3.2.4)."""
_GZIP_WINDOW = 31


def pack(contents: Mapping[str, bytes]) -> bytes:
    """Write an archive of files by their names.

    Raises:
        Refused: No file, or a name that leaves the folder or is too long for the format.
    """
    if not contents:
        raise Refused("An archive must hold at least one file.")
    return b"".join(_gzipped(_tarred(contents)))


def unpack(archive: bytes, *, limit: int = MAX_BYTES) -> dict[str, bytes]:
    """Read an archive into memory. Nothing is written and nothing of it is run.

    Args:
        archive: The whole file.
        limit: Largest size of all content together, tar blocks included, in bytes.

    Raises:
        Refused: It is no whole archive, is larger than the limit, or holds anything but regular files below one folder,
            each once.
    """
    content = _inflated(archive, limit)
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as tar:
            members = [(_checked(member).name, _content(tar, member)) for member in tar]
    except tarfile.TarError as error:
        raise Refused(f"The archive cannot be read: {error}.") from error
    twice = first_repeated(name for name, _ in members)
    if twice is not None:
        raise Refused(f"The archive holds {twice!a} twice.")
    return dict(members)


def _tarred(contents: Mapping[str, bytes]) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.USTAR_FORMAT, encoding="utf-8") as tar:
        for name in sorted(contents):
            tar.addfile(_member(name, contents[name]), io.BytesIO(contents[name]))
    return written.getvalue()


def _member(name: str, content: bytes) -> tarfile.TarInfo:
    check_name(name)
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = len(content), 0o644, 0
    try:
        member.tobuf(tarfile.USTAR_FORMAT, "utf-8", "strict")
    except ValueError as error:
        raise Refused(f"The name {name!a} is too long for an archive.") from error
    return member


def _gzipped(content: bytes) -> Iterator[bytes]:
    yield _GZIP_HEADER
    for start in range(0, len(content), _STORED_BYTES):
        block = content[start : start + _STORED_BYTES]
        last = start + _STORED_BYTES >= len(content)
        yield struct.pack("<BHH", last, len(block), len(block) ^ 0xFFFF) + block
    yield struct.pack("<II", zlib.crc32(content), len(content) & 0xFFFFFFFF)


def _inflated(archive: bytes, limit: int) -> bytes:
    inflate = zlib.decompressobj(_GZIP_WINDOW)
    try:
        content = inflate.decompress(archive, limit + 1)
    except zlib.error as error:
        raise Refused(f"The archive is no gzip file: {error}.") from error
    if len(content) > limit:
        raise Refused(f"The archive holds more than {limit} bytes.")
    if not inflate.eof or inflate.unused_data:
        raise Refused("The archive is cut off, or something stands behind its end.")
    return content


def _checked(member: tarfile.TarInfo) -> tarfile.TarInfo:
    check_name(member.name)
    if not member.isreg() or member.issparse():
        raise Refused(f"The entry {member.name!a} of the archive is no regular file.")
    return member


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    # A regular file always has a stream, and one that ends early is an error of the library.
    stream = cast("IO[bytes]", tar.extractfile(member))
    return stream.read()
