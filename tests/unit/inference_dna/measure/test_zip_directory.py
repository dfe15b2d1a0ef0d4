from __future__ import annotations

import io
import random
import struct
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from inference_dna.canonical import Refused
from inference_dna.measure.zip_directory import (
    MAX_DIRECTORY_BYTES,
    MAX_MEMBER_BYTES,
    Member,
    read_directory,
    read_member,
)

MEMBERS = {"m/data.pkl": b"pickle", "m/data/0": bytes(5000), "m/code/x.py": b"def f():\n  pass\n" * 90, "m/empty": b""}


def archive(*, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as file:
        for name, content in MEMBERS.items():
            file.writestr(name, content)
    return out.getvalue()


def directory(content: bytes) -> tuple[Member, ...]:
    return read_directory(io.BytesIO(content), "m.pt", len(content))


def unpacked(content: bytes) -> dict[str, bytes]:
    return {member.name: read_member(io.BytesIO(content), "m.pt", member) for member in directory(content)}


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_an_archive_is_what_its_directory_says(compression: int) -> None:
    assert unpacked(archive(compression=compression)) == MEMBERS


def test_an_archive_written_as_a_stream_has_its_sizes_behind_its_members() -> None:
    class OneWay(io.BytesIO):
        def seekable(self) -> bool:
            return False

    out = OneWay()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("m/data.pkl", b"pickle")

    assert unpacked(out.getvalue()) == {"m/data.pkl": b"pickle"}


def test_an_archive_without_members_has_an_empty_directory() -> None:
    out = io.BytesIO()
    zipfile.ZipFile(out, "w").close()

    assert directory(out.getvalue()) == ()


def test_sizes_beyond_32_bits_stand_in_the_wide_records(tmp_path: Path) -> None:
    """Five gigabytes of holes: the file takes no room on the disk."""
    path = tmp_path / "large.pt"
    size = 5 * 1000**3
    with zipfile.ZipFile(path, "w") as file:
        with file.open(zipfile.ZipInfo("m/data/0"), "w", force_zip64=True) as member:
            member.write(b"")
        info = file.infolist()[0]
        info.file_size = info.compress_size = size
        file.fp.seek(info.header_offset + 30 + len(info.filename) + 20 + size)  # type: ignore[union-attr]
        file.start_dir = file.fp.tell()  # type: ignore[union-attr]
        file.writestr("m/data.pkl", b"pickle")

    with path.open("rb") as stream:
        members = read_directory(stream, "large.pt", path.stat().st_size)

        assert [(member.name, member.size) for member in members] == [("m/data/0", size), ("m/data.pkl", 6)]
        assert read_member(stream, "large.pt", members[1]) == b"pickle"
        with pytest.raises(Refused, match="more than 64 MiB are not unpacked"):
            read_member(stream, "large.pt", members[0])


@pytest.mark.parametrize("cut", [1, 10, 22, 60, 300])
def test_a_truncated_archive_is_refused(cut: int) -> None:
    with pytest.raises(Refused, match="may be truncated"):
        directory(archive()[:-cut])


def entry(content: bytes, name: bytes) -> int:
    """Where the entry of a member begins in the directory."""
    return content.rindex(name) - 46


def patched(content: bytes, place: int, form: str, *values: int) -> bytes:
    return content[:place] + struct.pack(form, *values) + content[place + struct.calcsize(form) :]


def in_place_of(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    return lambda content: content.replace(old, new)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        pytest.param(lambda content: content + b"x", "does not end with the end record", id="something-behind"),
        pytest.param(lambda content: b"x" + content, "does not lie directly before", id="something-in-front"),
        pytest.param(in_place_of(b"m/empty", b"../../a"), "leaves its folder", id="climbing-name"),
        pytest.param(in_place_of(b"m/empty", b"/etc/pw"), "leaves its folder", id="absolute-name"),
        pytest.param(in_place_of(b"m/empty", b"\xff\xff/aaaa"), "leaves its folder", id="name-is-not-utf8"),
        pytest.param(lambda c: patched(c, entry(c, b"m/data/0") + 8, "<H", 1), "encrypted", id="encrypted"),
        pytest.param(lambda c: patched(c, entry(c, b"m/data/0") + 10, "<H", 14), "unusual method", id="lzma"),
        pytest.param(lambda c: c.replace(b"m/empty", b"m/other", 1), "another name", id="name-elsewhere"),
        pytest.param(lambda c: patched(c, c.index(b"m/empty") - 30, "<L", 0), "not where", id="place-is-no-member"),
        pytest.param(lambda c: patched(c, entry(c, b"m/empty") + 42, "<L", 2**30), "ends at byte", id="place-outside"),
        pytest.param(lambda c: patched(c, entry(c, b"m/empty") + 20, "<2L", 900, 900), "beyond", id="size-outside"),
        pytest.param(lambda c: patched(c, entry(c, b"m/empty") + 20, "<2L", 2**32 - 1, 0),
                     "no readable size", id="wide-size-missing"),
        pytest.param(lambda c: patched(c, len(c) - 12, "<H", 7), "split or carries", id="counts-differ"),
        pytest.param(lambda c: patched(c, len(c) - 14, "<2H", 7, 7), "announces 7 members and lists 4", id="count"),
        pytest.param(lambda c: patched(c, entry(c, b"m/empty"), "<L", 0), "cannot be read at byte", id="no-entry"),
        pytest.param(lambda c: patched(c, entry(c, b"m/empty") + 28, "<H", 99), "middle of an entry", id="short-entry"),
        pytest.param(lambda c: patched(c, len(c) - 22 + 16, "<L", 2**32 - 1), "contradict", id="wide-record-missing"),
    ],
)  # fmt: skip
def test_what_two_readers_could_understand_in_two_ways_is_refused(change: Callable[[bytes], bytes], why: str) -> None:
    with pytest.raises(Refused, match=why):
        directory(change(archive(compression=zipfile.ZIP_STORED)))


def test_members_that_share_bytes_are_refused() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("m/1", bytes(10))
        file.writestr("m/2", bytes(100))
    content = out.getvalue()
    # The first member now reaches over the second.
    content = patched(content, entry(content, b"m/1") + 20, "<2L", 60, 60)

    with pytest.raises(Refused, match="overlaps another"):
        directory(content)


def test_one_name_twice_is_refused() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("m/1", b"")
        file.writestr("m/2", b"")

    with pytest.raises(Refused, match="'m/1' twice"):
        directory(out.getvalue().replace(b"m/2", b"m/1"))


def test_a_member_that_unpacks_to_more_than_it_says_is_refused_before_it_is_unpacked() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("m/code/bomb.py", bytes(50_000_000))
    content = out.getvalue()
    bomb = directory(patched(content, entry(content, b"m/code/bomb.py") + 24, "<L", 1000))[0]

    with pytest.raises(Refused, match="unpacks to more than the 1000 bytes"):
        read_member(io.BytesIO(content), "m.pt", bomb)


def test_a_damaged_member_is_refused() -> None:
    content = bytearray(archive(compression=zipfile.ZIP_STORED))
    content[content.index(b"pickle")] ^= 1

    with pytest.raises(Refused, match="damaged"):
        unpacked(bytes(content))


def test_a_member_that_cannot_be_unpacked_is_refused() -> None:
    content = archive()
    at = content.index(b"m/code/x.py") + len(b"m/code/x.py")

    with pytest.raises(Refused, match="damaged"):
        unpacked(content[:at] + b"\xff" * 8 + content[at + 8 :])


def test_a_large_member_is_never_unpacked() -> None:
    member = Member("m/code/x.py", 0, 100, MAX_MEMBER_BYTES + 1, deflated=True, crc=0)

    with pytest.raises(Refused, match="64 MiB"):
        read_member(io.BytesIO(archive()), "m.pt", member)


@pytest.mark.parametrize("seed", range(20))
def test_no_damage_makes_it_fail_in_another_way(seed: int) -> None:
    chance, content = random.Random(seed), bytearray(archive())
    for _ in range(seed + 1):
        content[chance.randrange(len(content))] = chance.randrange(256)
    with suppress(Refused):
        unpacked(bytes(content))


def test_a_directory_beyond_reason_is_not_read() -> None:
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, MAX_DIRECTORY_BYTES + 1, 0, 0)

    class Large(io.BytesIO):
        """An archive whose end is all that anybody may read."""

        def read(self, size: int | None = -1, /) -> bytes:
            assert size is not None
            assert size < 100
            return end[:size]

    with pytest.raises(Refused, match="more than 100 MB"):
        read_directory(Large(), "m.pt", MAX_DIRECTORY_BYTES + 1 + len(end))


def wide_end(*, count: int = 1, here: int = 1, magic: bytes = b"PK\x06\x06") -> bytes:
    """An archive with nothing but a wide end record and its locator."""
    record = struct.pack("<4sQ2H2L4Q", magic, 44, 45, 45, 0, 0, here, count, 0, 0)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, 0, 1)
    return record + locator + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0, 2**32 - 1, 0)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        pytest.param(wide_end(), "announces 1 members and lists 0", id="count"),
        pytest.param(wide_end(here=2), "contradict", id="counts-differ"),
        pytest.param(wide_end(magic=b"xxxx"), "contradict", id="no-record"),
        pytest.param(wide_end()[-22:], "contradict", id="no-locator"),
    ],
)
def test_wide_end_records_that_are_refused(content: bytes, why: str) -> None:
    with pytest.raises(Refused, match=why):
        directory(content)


def test_a_stored_member_with_two_sizes_is_refused() -> None:
    content = archive(compression=zipfile.ZIP_STORED)

    with pytest.raises(Refused, match="states two sizes"):
        directory(patched(content, entry(content, b"m/data/0") + 24, "<L", 7))


def test_wide_sizes_are_found_behind_other_extra_fields() -> None:
    info = zipfile.ZipInfo("m/data/0")
    info.extra = struct.pack("<2H5s", 0x5455, 5, b"times") + struct.pack("<2H2Q", 1, 16, 6, 6)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr(info, b"weight")
    content = out.getvalue()
    content = patched(content, entry(content, b"m/data/0") + 20, "<2L", 2**32 - 1, 2**32 - 1)

    assert unpacked(content) == {"m/data/0": b"weight"}
