"""The structure of safetensors files and of the index over their shards (dna.md section 3, provenance.md section 2).

Structure is checked before anything is written: a digest of garbage is a well-protected wrong model.
"""

from __future__ import annotations

import math
import posixpath
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import BinaryIO, cast

from inference_dna.canonical import Json, Refused, parse_json
from inference_dna.files import FileEntry
from inference_dna.measure.inside import Parts

SUFFIX = ".safetensors"
INDEX_SUFFIX = ".index.json"
SAFETENSORS = "safetensors"
METADATA = "__metadata__"

DTYPE_BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
    "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32, "I64": 64, "U64": 64, "F64": 64,
    "C64": 64, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}  # fmt: skip
"""Bits of one element; a dtype that is not here is taken as its offsets say."""

_LENGTH = struct.Struct("<Q")
_MAX_HEADER_BYTES = 100 * 1000 * 1000
_NAMES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class TensorPlace:
    """One tensor of a file: dtype and shape as its header says, the range of its bytes in the file."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class SafetensorsFile:
    """A file whose tensors cover its data without holes or overlap."""

    places: tuple[TensorPlace, ...]
    form: str = SAFETENSORS
    code: tuple[FileEntry, ...] = ()

    @property
    def tensors(self) -> frozenset[str]:
        """Names of its tensors."""
        return frozenset(place.name for place in self.places)

    def check(self, name: str, parts: Parts) -> None:
        """Nothing: such a file names no other."""


@dataclass(frozen=True, slots=True)
class IndexFile:
    """An index over shards of any format: file of each tensor, relative to the index's folder."""

    weight_map: Mapping[str, str]
    form: str | None = None
    tensors: frozenset[str] | None = None
    code: tuple[FileEntry, ...] = ()

    def check(self, name: str, parts: Parts) -> None:
        """Judge an index by the shards it names.

        Raises:
            Refused: A shard is missing, or the tensor map is not the union of the shard headers.
        """
        folder = posixpath.dirname(name)
        shards = {shard: posixpath.join(folder, shard) for shard in self.weight_map.values()}
        missing = set(shards.values()) - parts.keys()
        if missing:
            raise Refused(f"The index {name!a} names shards that are missing: {shown(missing)}.")
        headers = {shard: _tensors(parts, file) for shard, file in shards.items()}
        stated = {(tensor, shard) for tensor, shard in self.weight_map.items() if headers[shard] is not None}
        held = {(tensor, shard) for shard, tensors in headers.items() for tensor in tensors or ()}
        if stated != held:
            differing = {tensor for tensor, _ in stated ^ held}
            raise Refused(f"The index {name!a} and its shards disagree about the tensors {shown(differing)}.")


def inspect_safetensors(stream: BinaryIO, name: str, size: int) -> SafetensorsFile:
    """Read the header of one file and check that its tensors cover the data without holes or overlap.

    Args:
        stream: The file, open for reading in binary.
        name: Its name in the model folder.
        size: Its size in bytes.

    Raises:
        Refused: The file does not parse.
    """
    header, header_end = _read_header(stream, name, size)
    places = [_place(name, tensor, value, header_end) for tensor, value in header.items() if tensor != METADATA]
    places.sort(key=lambda place: (place.start, place.end))
    end = header_end
    for place in places:
        if place.start != end or place.end < place.start:
            at = min(place.start, end) - header_end
            raise Refused(f"The tensors of {name!a} leave a hole or overlap at byte {at} of the data.")
        end = place.end
    if end != size:
        raise Refused(
            f"The tensors of {name!a} cover {end - header_end} bytes, the file holds {size - header_end}; "
            f"{'it may be truncated' if end > size else 'something was appended'}."
        )
    return SafetensorsFile(tuple(places))


def inspect_index(content: bytes, name: str) -> IndexFile:
    """Read an index.

    Args:
        content: The whole file.
        name: Its name in the model folder; shards are named relative to its folder.

    Raises:
        Refused: It is no JSON object with a `weight_map` of texts.
    """
    try:
        index = parse_json(content)
    except Refused as error:
        raise Refused(f"The index {name!a} cannot be read. {error}") from error
    weight_map = index.get("weight_map") if isinstance(index, Mapping) else None
    if not isinstance(weight_map, Mapping) or not all(isinstance(shard, str) for shard in weight_map.values()):
        raise Refused(f"The index {name!a} has no weight_map of texts.")
    return IndexFile(cast("dict[str, str]", weight_map))


def shown(names: Iterable[str]) -> str:
    """Write the first few names, and how many more there are."""
    ordered = sorted(names)
    more = len(ordered) - _NAMES_SHOWN
    return ", ".join(map(ascii, ordered[:_NAMES_SHOWN])) + (f" and {more} more" if more > 0 else "")


def _read_header(stream: BinaryIO, name: str, size: int) -> tuple[Mapping[str, Json], int]:
    stream.seek(0)
    prefix = stream.read(_LENGTH.size)
    length = _LENGTH.unpack(prefix)[0] if len(prefix) == _LENGTH.size else 0
    if not 0 < length <= min(_MAX_HEADER_BYTES, size - _LENGTH.size):
        raise Refused(f"The file {name!a} does not begin with the length of a safetensors header.")
    text = stream.read(length)
    if not text.startswith(b"{"):
        raise Refused(f"The header of {name!a} is no JSON object.")
    try:
        return cast("Mapping[str, Json]", parse_json(text)), _LENGTH.size + length
    except Refused as error:
        raise Refused(f"The header of {name!a} cannot be read. {error}") from error


def _place(file: str, tensor: str, value: Json, header_end: int) -> TensorPlace:
    match value:
        case {"dtype": str() as dtype, "shape": [*shape], "data_offsets": [int() as start, int() as end]}:
            sides = tuple(shape)
        case _:
            raise Refused(f"The tensor {tensor!a} of {file!a} has no dtype, shape and data_offsets.")
    if any(type(side) is not int or side < 0 for side in sides) or type(start) is bool or type(end) is bool:
        raise Refused(f"The tensor {tensor!a} of {file!a} has a shape or offsets that are no integers from 0 up.")
    bits = DTYPE_BITS.get(dtype)
    if bits is not None and math.prod(sides) * bits != (end - start) * 8:
        raise Refused(
            f"The tensor {tensor!a} of {file!a} has {end - start} bytes, which do not fit its dtype and shape."
        )
    return TensorPlace(tensor, dtype, sides, header_end + start, header_end + end)


def _tensors(parts: Parts, file: str) -> frozenset[str] | None:
    inside = parts[file].inside
    return None if inside is None else inside.tensors
