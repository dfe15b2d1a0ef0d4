"""The structure of safetensors files and of the index over their shards (dna.md section 3, provenance.md section 2).

Structure is checked before anything is written: a digest of garbage is a well-protected wrong model.
"""

from __future__ import annotations

import posixpath
import struct
from collections.abc import Iterable, Mapping
from typing import BinaryIO, cast

from inference_dna.canonical import Json, Refused, parse_json

SUFFIX = ".safetensors"
INDEX_SUFFIX = ".index.json"

_LENGTH = struct.Struct("<Q")
_MAX_HEADER_BYTES = 100 * 1000 * 1000
_NAMES_SHOWN = 5


def read_tensor_names(stream: BinaryIO, name: str, size: int) -> frozenset[str]:
    """Read the header of one safetensors file and check that its tensors cover the data without holes or overlap.

    Args:
        stream: The file, open for reading in binary.
        name: Its name in the model folder.
        size: Its size in bytes.

    Raises:
        Refused: The file does not parse.
    """
    header, header_end = _read_header(stream, name, size)
    tensors = {tensor: value for tensor, value in header.items() if tensor != "__metadata__"}
    place = 0
    for start, end in sorted(_offsets(name, tensor, value) for tensor, value in tensors.items()):
        if start != place or end < start:
            raise Refused(f"The tensors of {name!a} leave a hole or overlap at byte {min(start, place)} of the data.")
        place = end
    if place != size - header_end:
        raise Refused(f"The tensors of {name!a} cover {place} bytes, the file holds {size - header_end}.")
    return frozenset(tensors)


def check_index(name: str, content: bytes, files: Iterable[str], tensors: Mapping[str, frozenset[str]]) -> None:
    """Check an index against the shards it names.

    Args:
        name: The index's name in the model folder; shards are named relative to its folder.
        content: The index.
        files: Names of all weight files.
        tensors: Tensor names of each safetensors file, by file name.

    Raises:
        Refused: A shard is missing, or the tensor map is not the union of the shard headers.
    """
    weight_map = _weight_map(name, content)
    folder = posixpath.dirname(name)
    shards = {shard: posixpath.join(folder, shard) for shard in weight_map.values()}
    missing = set(shards.values()) - set(files)
    if missing:
        raise Refused(f"The index {name!a} names shards that are missing: {_shown(missing)}.")
    stated = {(tensor, shard) for tensor, shard in weight_map.items() if shards[shard] in tensors}
    held = {(tensor, shard) for shard, file in shards.items() for tensor in tensors.get(file, ())}
    if stated != held:
        differing = {tensor for tensor, _ in stated ^ held}
        raise Refused(f"The index {name!a} and its shards disagree about the tensors {_shown(differing)}.")


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


def _offsets(name: str, tensor: str, value: Json) -> tuple[int, int]:
    offsets = value.get("data_offsets") if isinstance(value, Mapping) else None
    match offsets:
        case [int() as start, int() as end]:
            return start, end
        case _:
            raise Refused(f"The tensor {tensor!a} of {name!a} has no data_offsets.")


def _weight_map(name: str, content: bytes) -> dict[str, str]:
    try:
        index = parse_json(content)
    except Refused as error:
        raise Refused(f"The index {name!a} cannot be read. {error}") from error
    weight_map = index.get("weight_map") if isinstance(index, Mapping) else None
    if not isinstance(weight_map, Mapping) or not all(isinstance(shard, str) for shard in weight_map.values()):
        raise Refused(f"The index {name!a} has no weight_map of texts.")
    return cast("dict[str, str]", weight_map)


def _shown(names: Iterable[str]) -> str:
    ordered = sorted(names)
    more = len(ordered) - _NAMES_SHOWN
    return ", ".join(map(ascii, ordered[:_NAMES_SHOWN])) + (f" and {more} more" if more > 0 else "")
