"""Reads the directory of a ZIP archive, strictly and without unpacking anything (provenance.md section 2).

Rules this file holds: the archive is what its directory says and nothing else. The end record closes the file, the
directory lies directly before it, members lie before the directory, follow one another without overlap, and none is
encrypted, named twice, or named outside its folder. Whatever two readers could understand in two ways is refused.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from inference_dna.canonical import Refused, first_repeated
from inference_dna.files import check_name

MAGIC = b"PK\x03\x04"
MAX_DIRECTORY_BYTES = 100 * 1000 * 1000
MAX_MEMBER_BYTES = 64 * 1024 * 1024
"""The most that is ever unpacked of one member."""

_END = struct.Struct("<4s4H2LH")
_END_MAGIC = b"PK\x05\x06"
_END_64 = struct.Struct("<4sQ2H2L4Q")
_END_64_MAGIC = b"PK\x06\x06"
_LOCATOR = struct.Struct("<4sLQL")
_LOCATOR_MAGIC = b"PK\x06\x07"
_ENTRY = struct.Struct("<4s6H3L5H2L")
_ENTRY_MAGIC = b"PK\x01\x02"
_LOCAL = struct.Struct("<4s5H3L2H")
_EXTRA = struct.Struct("<2H")
_EXTRA_64 = 0x0001
_FULL_16, _FULL_32 = 0xFFFF, 0xFFFFFFFF
_ENCRYPTED = 0x0001 | 0x0040 | 0x2000
_STORED, _DEFLATED = 0, 8


@dataclass(frozen=True, slots=True)
class Member:
    """One member: name, where its local header begins, bytes in the archive, bytes when unpacked, whether deflated."""

    name: str
    header: int
    packed: int
    size: int
    deflated: bool
    crc: int


@dataclass(frozen=True, slots=True)
class _End:
    """Where the directory begins, its bytes, its entries, and where what follows it begins."""

    start: int
    size: int
    count: int
    end: int


def read_directory(stream: BinaryIO, name: str, size: int) -> tuple[Member, ...]:
    """Read the directory of an archive in the order it has there.

    Args:
        stream: The archive, open for reading in binary.
        name: Its name in the model folder.
        size: Its size in bytes.

    Raises:
        Refused: The archive breaks a rule above, or its directory is larger than `MAX_DIRECTORY_BYTES`.
    """
    end = _read_end(stream, name, size)
    if end.size > MAX_DIRECTORY_BYTES:
        raise Refused(f"The directory of the archive {name!a} has {end.size} bytes; more than 100 MB are not read.")
    directory = _read(stream, name, end.start, end.size)
    members = tuple(_entries(directory, name))
    if len(members) != end.count:
        raise Refused(f"The archive {name!a} announces {end.count} members and lists {len(members)}.")
    twice = first_repeated(member.name for member in members)
    if twice is not None:
        raise Refused(f"The archive {name!a} holds the member {twice!a} twice.")
    _check_places(stream, name, members, end.start)
    return members


def read_member(stream: BinaryIO, name: str, member: Member) -> bytes:
    """Unpack one small member and check its checksum.

    Args:
        stream: The archive.
        name: Its name in the model folder.
        member: An entry of its directory.

    Raises:
        Refused: It is larger than `MAX_MEMBER_BYTES`, unpacks to more or less than it says, or is damaged.
    """
    what = f"The member {member.name!a} of the archive {name!a}"
    if max(member.size, member.packed) > MAX_MEMBER_BYTES:
        raise Refused(f"{what} says it unpacks to {member.size} bytes; more than 64 MiB are not unpacked.")
    packed = _read(stream, name, _data_start(stream, name, member), member.packed)
    content = _inflate(packed, member.size, what) if member.deflated else packed
    if len(content) != member.size or zlib.crc32(content) != member.crc:
        raise Refused(f"{what} is damaged: its content does not fit its size and checksum.")
    return content


def _inflate(packed: bytes, size: int, what: str) -> bytes:
    # One byte more than announced is enough to catch a member that unpacks to more, however much more it would be.
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        content = inflater.decompress(packed, size + 1)
    except zlib.error as error:
        raise Refused(f"{what} is damaged: it cannot be unpacked.") from error
    if len(content) > size:
        raise Refused(f"{what} unpacks to more than the {size} bytes it announces.")
    return content


def _read_end(stream: BinaryIO, name: str, size: int) -> _End:
    record = size - _END.size
    text = _read(stream, name, record, _END.size) if record >= 0 else b""
    if not text.startswith(_END_MAGIC):
        raise Refused(f"The archive {name!a} does not end with the end record of a ZIP archive; it may be truncated.")
    _, disk, first_disk, here, count, length, start, comment = _END.unpack(text)
    if comment or disk not in (0, _FULL_16) or disk != first_disk or here != count:
        raise Refused(f"The archive {name!a} is split or carries a comment; write it in one piece.")
    if _FULL_16 not in (disk, count) and _FULL_32 not in (length, start) and not _has_locator(stream, name, record):
        return _checked(name, _End(start, length, count, record))
    return _read_end_64(stream, name, record)


def _has_locator(stream: BinaryIO, name: str, record: int) -> bool:
    place = record - _LOCATOR.size
    return place >= 0 and _read(stream, name, place, 4) == _LOCATOR_MAGIC


def _read_end_64(stream: BinaryIO, name: str, record: int) -> _End:
    fault = Refused(f"The end records of the archive {name!a} contradict each other.")
    place = record - _LOCATOR.size
    if place < 0:
        raise fault
    magic, _, position, _ = _LOCATOR.unpack(_read(stream, name, place, _LOCATOR.size))
    if magic != _LOCATOR_MAGIC or position + _END_64.size != place:
        raise fault
    magic, _, _, _, _, _, here, count, length, start = _END_64.unpack(_read(stream, name, position, _END_64.size))
    if magic != _END_64_MAGIC or here != count:
        raise fault
    return _checked(name, _End(start, length, count, position))


def _checked(name: str, end: _End) -> _End:
    if end.start + end.size != end.end:
        raise Refused(f"The directory of the archive {name!a} does not lie directly before its end record.")
    return end


def _entries(directory: bytes, name: str) -> Iterator[Member]:
    place = 0
    while place < len(directory):
        head = directory[place : place + _ENTRY.size]
        if len(head) < _ENTRY.size or not head.startswith(_ENTRY_MAGIC):
            raise Refused(f"The directory of the archive {name!a} cannot be read at byte {place}.")
        fields = _ENTRY.unpack(head)
        lengths = fields[10:13]
        tail = directory[place + _ENTRY.size : place + _ENTRY.size + sum(lengths)]
        if len(tail) < sum(lengths):
            raise Refused(f"The directory of the archive {name!a} ends in the middle of an entry.")
        yield _member(name, fields, tail)
        place += _ENTRY.size + sum(lengths)


def _member(archive: str, fields: Sequence[int], tail: bytes) -> Member:
    flags, method = fields[3], fields[4]
    name = _member_name(archive, tail[: fields[10]])
    if flags & _ENCRYPTED:
        raise Refused(f"The member {name!a} of the archive {archive!a} is encrypted.")
    if method not in (_STORED, _DEFLATED):
        raise Refused(f"The member {name!a} of the archive {archive!a} is packed by an unusual method ({method}).")
    extra = tail[fields[10] : fields[10] + fields[11]]
    size, packed, header = _wide(archive, name, extra, (fields[9], fields[8], fields[16]))
    if method == _STORED and size != packed:
        raise Refused(f"The member {name!a} of the archive {archive!a} is stored and states two sizes.")
    return Member(name, header, packed, size, method == _DEFLATED, fields[7])


def _member_name(archive: str, raw: bytes) -> str:
    try:
        name = raw.decode()
        check_name(name.removesuffix("/"))
    except (UnicodeDecodeError, Refused) as error:
        raise Refused(f"A member of the archive {archive!a} is named {raw!r}, which leaves its folder.") from error
    return name


def _wide(archive: str, name: str, extra: bytes, fields: tuple[int, int, int]) -> tuple[int, int, int]:
    """Size, packed size and place; those that do not fit 32 bits stand in the extra field, in this order."""
    if _FULL_32 not in fields:
        return fields
    wide = _extra_64(extra)
    asked = fields.count(_FULL_32)
    if wide is None or len(wide) < 8 * asked:
        raise Refused(f"The member {name!a} of the archive {archive!a} has no readable size.")
    values = iter(struct.unpack(f"<{asked}Q", wide[: 8 * asked]))
    size, packed, header = (next(values) if field == _FULL_32 else field for field in fields)
    return size, packed, header


def _extra_64(extra: bytes) -> bytes | None:
    place = 0
    while place + _EXTRA.size <= len(extra):
        kind, length = _EXTRA.unpack_from(extra, place)
        place += _EXTRA.size
        if kind == _EXTRA_64:
            return extra[place : place + length]
        place += length
    return None


def _check_places(stream: BinaryIO, name: str, members: Sequence[Member], end: int) -> None:
    """Members that share bytes are how a small archive unpacks to petabytes."""
    place = 0
    for member in sorted(members, key=lambda each: each.header):
        if member.header < place:
            raise Refused(f"The member {member.name!a} of the archive {name!a} overlaps another.")
        place = _data_start(stream, name, member) + member.packed
        if place > end:
            raise Refused(f"The member {member.name!a} of the archive {name!a} reaches beyond the members' end.")


def _data_start(stream: BinaryIO, archive: str, member: Member) -> int:
    head = _read(stream, archive, member.header, _LOCAL.size)
    if not head.startswith(MAGIC):
        raise Refused(f"The member {member.name!a} of the archive {archive!a} is not where the directory says.")
    length, extra = _LOCAL.unpack(head)[-2:]
    if _read(stream, archive, member.header + _LOCAL.size, length) != member.name.encode():
        raise Refused(f"The member {member.name!a} of the archive {archive!a} has another name at its place.")
    return member.header + _LOCAL.size + int(length) + int(extra)


def _read(stream: BinaryIO, name: str, place: int, count: int) -> bytes:
    stream.seek(place)
    content = stream.read(count)
    if len(content) != count:
        raise Refused(f"The archive {name!a} ends at byte {place + len(content)}, in the middle of something.")
    return content
