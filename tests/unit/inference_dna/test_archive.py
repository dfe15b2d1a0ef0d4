from __future__ import annotations

import gzip
import io
import subprocess
import tarfile
import zlib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference_dna.archive import pack, unpack
from inference_dna.canonical import Refused

CONTENTS = {"tokenizer.json": b'{"a": 1}', "extra/segmenter/dict.txt": b"x" * 70_000, "vocab.txt": b""}
NAMES = st.text("abc.-_é", min_size=1, max_size=12).filter(lambda name: name not in (".", ".."))


def tarred(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    """An archive as somebody else may have made it."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as tar:
        for member, content in members:
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return written.getvalue()


def entry(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def test_the_bytes_are_known() -> None:
    """Any other value here is another archive for every version that is out."""
    assert sha256(pack(CONTENTS)).hexdigest() == "130ae812dd522db9c93e3db7ce72d80bf7eae300364341f1b3a4e4fc2be5567b"


def test_the_order_of_the_files_does_not_count() -> None:
    assert pack(CONTENTS) == pack(dict(reversed(CONTENTS.items())))


def test_what_was_packed_is_unpacked() -> None:
    assert unpack(pack(CONTENTS)) == CONTENTS


@given(st.dictionaries(NAMES, st.binary(max_size=200), min_size=1, max_size=5))
def test_any_files_come_back(contents: dict[str, bytes]) -> None:
    assert unpack(pack(contents)) == contents


def test_other_programs_read_it(tmp_path: Path) -> None:
    archive = tmp_path / "a.tar.gz"
    archive.write_bytes(pack(CONTENTS))

    listed = subprocess.run(["tar", "-tvzf", archive], capture_output=True, text=True, check=True).stdout
    subprocess.run(["gzip", "-t", archive], check=True)

    assert [line.split()[-1] for line in listed.splitlines()] == sorted(CONTENTS)
    assert all(line.startswith("-rw-r--r-- 0/0") for line in listed.splitlines())
    with tarfile.open(archive) as tar:
        assert {m.name: tar.extractfile(m).read() for m in tar} == CONTENTS  # type: ignore[union-attr]


def test_an_archive_that_was_compressed_is_read() -> None:
    assert unpack(tarred((entry("a"), b"1"), (entry("b/c"), b"2"))) == {"a": b"1", "b/c": b"2"}


@pytest.mark.parametrize(
    ("archive", "reason"),
    [
        pytest.param(lambda: b"", "cut off", id="empty"),
        pytest.param(lambda: b"no archive", "no gzip file", id="no-gzip"),
        pytest.param(lambda: pack(CONTENTS)[:-5], "cut off", id="cut-off"),
        pytest.param(lambda: pack(CONTENTS) + b"x", "behind its end", id="trailing-bytes"),
        pytest.param(lambda: pack(CONTENTS) + pack(CONTENTS), "behind its end", id="a-second-archive"),
        pytest.param(lambda: gzip.compress(b"x" * 1024), "cannot be read", id="no-tar"),
        pytest.param(lambda: gzip.compress(zlib.decompress(pack(CONTENTS), 31)[:700]), "c", id="tar-cut-off"),
        pytest.param(lambda: gzip.compress(bytes(5_000_000)), "more than 1000000 bytes", id="bomb"),
        pytest.param(lambda: tarred((entry("../up"), b"")), "component", id="leaves-the-folder"),
        pytest.param(lambda: tarred((entry("/etc/x"), b"")), "component", id="absolute"),
        pytest.param(lambda: tarred((entry("a"), b"1"), (entry("a"), b"2")), "'a' twice", id="twice"),
        pytest.param(lambda: tarred((entry("l", tarfile.SYMTYPE, "/etc/passwd"), b"")), "no regular", id="link"),
        pytest.param(lambda: tarred((entry("l", tarfile.LNKTYPE, "a"), b"")), "no regular", id="hard-link"),
        pytest.param(lambda: tarred((entry("d", tarfile.DIRTYPE), b"")), "no regular", id="folder"),
        pytest.param(lambda: tarred((entry("f", tarfile.FIFOTYPE), b"")), "no regular", id="fifo"),
        pytest.param(lambda: tarred((entry("d", tarfile.CHRTYPE), b"")), "no regular", id="device"),
    ],
)
def test_what_is_no_plain_archive_is_refused(archive: Callable[[], bytes], reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        unpack(archive(), limit=1_000_000)


@pytest.mark.parametrize(
    ("contents", "reason"),
    [
        ({}, "at least one"),
        ({"../a": b""}, "component"),
        ({"a" * 300: b""}, "too long"),
    ],
)
def test_what_cannot_be_packed_is_refused(contents: dict[str, bytes], reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        pack(contents)
