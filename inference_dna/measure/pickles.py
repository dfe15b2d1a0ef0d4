"""Finds files that hold a pickle, whatever they are called: loading one runs what it holds (provenance.md section 2).

Files are judged by how they begin, archives by their directory; nothing is unpickled. What is found is hashed like any
other file and told as a warning: only under names that an engine loads weights from is it refused (`torch_file.py`).
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import BinaryIO, Protocol

from inference_dna.canonical import Json, Refused
from inference_dna.measure.listing import Found
from inference_dna.measure.pickled import LOOKED_AT_BYTES, is_pickle, states_protocol
from inference_dna.measure.reading import open_regular, reading_errors
from inference_dna.measure.torch_file import is_script
from inference_dna.measure.zip_directory import MAGIC, read_directory

EVIDENCE = "pickles"

_SUFFIXES = (".pkl", ".pickle", ".joblib", ".dill")
"""Names that say so themselves: under these, and as members of archives, nothing passes for text."""
_MOST_LZMA_BYTES = 64 * 1024 * 1024


def find_pickles(files: Iterable[Found]) -> tuple[str, ...]:
    """Name those files that hold a pickle, sorted.

    Raises:
        Refused: A file cannot be read.
    """
    return tuple(sorted(found.name for found in files if _holds_one(found)))


def pickles_evidence(names: Sequence[str]) -> dict[str, Json]:
    """The member `pickles` of the weights' evidence; nothing where no file holds one."""
    return {EVIDENCE: list(names)} if names else {}


def noted_pickles(weights: Json) -> tuple[str, ...]:
    """Read from a weights section which files held a pickle when it was written."""
    evidence = weights.get("evidence") if isinstance(weights, Mapping) else None
    names = evidence.get(EVIDENCE) if isinstance(evidence, Mapping) else None
    return tuple(map(str, names)) if isinstance(names, list | tuple) else ()


def pickle_notes(names: Iterable[str]) -> Iterator[str]:
    """Say what was found, a line for each file."""
    for name in names:
        yield f"{name!a} holds a pickle, a program that runs where it is loaded; hashing it ran nothing"


def _holds_one(found: Found) -> bool:
    with reading_errors(f"the file {found.name!a}"), open_regular(found.path, found.name) as stream:
        head = stream.read(LOOKED_AT_BYTES)
        if head.startswith(MAGIC):
            return _archive_holds_one(stream, found)
    content = _unpacked(head) or head
    return states_protocol(content) or (found.name.endswith(_SUFFIXES) and is_pickle(io.BytesIO(content)))


def _archive_holds_one(stream: BinaryIO, found: Found) -> bool:
    """TorchScript's own pickles are read by a reader that runs none of them; all others are Python's."""
    try:
        members = read_directory(stream, found.name, found.size)
    except Refused:
        # Not every reader is as strict as ours: names stand in the directory at the end, and are never packed.
        stream.seek(max(0, found.size - LOOKED_AT_BYTES))
        end = stream.read()
        return any(suffix.encode() in end for suffix in _SUFFIXES)
    return not is_script(members) and any(member.name.endswith(_SUFFIXES) for member in members)


class _Unpacker(Protocol):
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def _gzip() -> _Unpacker:
    return zlib.decompressobj(zlib.MAX_WBITS | 16)


def _bzip2() -> _Unpacker:
    from bz2 import BZ2Decompressor

    return BZ2Decompressor()


def _xz() -> _Unpacker:
    from lzma import LZMADecompressor

    return LZMADecompressor(memlimit=_MOST_LZMA_BYTES)


_PACKED: tuple[tuple[bytes, Callable[[], _Unpacker]], ...] = (
    (b"\x1f\x8b", _gzip),
    (b"x", zlib.decompressobj),
    (b"BZh", _bzip2),
    (b"\xfd7zXZ\0", _xz),
)
"""How pickles are written smaller, by their first bytes; some Pythons lack one of the libraries."""


def _unpacked(head: bytes) -> bytes:
    """The first bytes inside a packed file; none where it is not packed after all."""
    for magic, make in _PACKED:
        if head.startswith(magic):
            try:
                return make().decompress(head, LOOKED_AT_BYTES)
            # Each library has errors of its own, and each says that nobody can unpack this here.
            except Exception:  # noqa: BLE001
                return b""
    return b""
