"""The structure of GGUF files and of the parts of a split (provenance.md section 2).

Layout: magic, version, number of tensors, number of metadata entries; the entries; one description per tensor; padding;
the tensors, each from an aligned place, one after another. Source: the GGUF page of the ggml project. Tokenizer, chat
template and RoPE settings are among the metadata, so the file is more than weights and is always hashed whole.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO, TypeAlias, cast

from inference_dna.canonical import Refused, first_repeated
from inference_dna.files import FileEntry
from inference_dna.measure.ggml import BLOCKS
from inference_dna.measure.gguf_reader import FIXED, MAX_HEAD_BYTES, GgufReader, open_head
from inference_dna.measure.inside import Parts
from inference_dna.measure.shards import shard_of

SUFFIX = ".gguf"
GGUF = "gguf"
VERSIONS = (2, 3)

Scalar: TypeAlias = "bool | int | float | str"
"""A metadata value that is no list."""

_ALIGNMENT, _DEFAULT_ALIGNMENT = "general.alignment", 32
_SPLIT_NUMBER, _SPLIT_COUNT, _SPLIT_TENSORS = "split.no", "split.count", "split.tensors.count"
_STRING, _ARRAY = 8, 9
_MAX_NAME_BYTES, _MAX_KEY_BYTES, _MAX_SIDES, _MAX_NESTING = 256, 65535, 8, 4
_LEAST_ENTRY_BYTES, _LEAST_TENSOR_BYTES = 13, 32


@dataclass(frozen=True, slots=True)
class Split:
    """Which part of how many this file is, from 0, and the number of tensors in all parts."""

    number: int
    count: int
    tensors: int | None


@dataclass(frozen=True, slots=True)
class GgufFile:
    """A GGUF file whose tensors fill it. `metadata` holds its scalars; of its lists only the number of items."""

    version: int
    names: tuple[str, ...]
    metadata: Mapping[str, Scalar]
    lists: Mapping[str, int]
    split: Split | None
    form: str = GGUF
    code: tuple[FileEntry, ...] = ()

    @property
    def tensors(self) -> frozenset[str]:
        """Names of its tensors."""
        return frozenset(self.names)

    def check(self, name: str, parts: Parts) -> None:
        """Judge the other parts of a split: all there, numbered as their names say, with the promised tensors.

        Raises:
            Refused: As said.
        """
        if self.split is None or self.split.count <= 1:
            return
        shard = shard_of(name)
        if shard is None or (shard.number, shard.count) != (self.split.number + 1, self.split.count):
            raise Refused(
                f"The file {name!a} says it is part {self.split.number + 1} of {self.split.count}; its name does not."
            )
        found = [parts[each].inside for each in shard.siblings() if each in parts]
        others = [cast("GgufFile", inside) for inside in found if inside is not None]
        _check_parts(name, self.split, others)


def inspect_gguf(stream: BinaryIO, name: str, size: int) -> GgufFile:
    """Read everything before the tensors and check that the tensors fill the rest.

    Args:
        stream: The file, open for reading in binary.
        name: Its name in the model folder.
        size: Its size in bytes.

    Raises:
        Refused: The file does not parse, or is of a version other than `VERSIONS`.
    """
    stream.seek(0)
    reader = open_head(stream, name, size)
    version = reader.number("I")
    if version not in VERSIONS:
        raise Refused(f"The file {name!a} is GGUF of version {version}; known are {VERSIONS[0]} and {VERSIONS[1]}.")
    tensors, entries = reader.number("Q"), reader.number("Q")
    if tensors * _LEAST_TENSOR_BYTES + entries * _LEAST_ENTRY_BYTES > size:
        raise Refused(f"The file {name!a} announces {tensors} tensors and {entries} entries, more than it can hold.")
    metadata, lists = _metadata(reader, entries)
    names = _tensors(reader, tensors, _alignment(name, metadata), size)
    return GgufFile(version, names, metadata, lists, _split(name, metadata))


def _metadata(reader: GgufReader, count: int) -> tuple[dict[str, Scalar], dict[str, int]]:
    scalars: dict[str, Scalar] = {}
    lists: dict[str, int] = {}
    for _ in range(count):
        key = reader.text(_MAX_KEY_BYTES)
        if key in scalars or key in lists:
            raise Refused(f"The metadata of {reader.name!a} holds {key!a} twice.")
        kind = reader.number("I")
        if kind == _ARRAY:
            lists[key] = _skip_array(reader, 1)
        else:
            scalars[key] = _scalar(reader, kind)
    return scalars, lists


def _scalar(reader: GgufReader, kind: int) -> Scalar:
    if kind == _STRING:
        return reader.text(MAX_HEAD_BYTES)
    if kind not in FIXED:
        raise Refused(f"The metadata of {reader.name!a} holds a value of the unknown type {kind}.")
    return reader.value(FIXED[kind])


def _skip_array(reader: GgufReader, level: int) -> int:
    kind, count = reader.number("I"), reader.number("Q")
    if level > _MAX_NESTING or kind not in {*FIXED, _STRING, _ARRAY}:
        raise Refused(f"The metadata of {reader.name!a} holds a list that nests too deep or is of type {kind}.")
    if kind in FIXED:
        reader.skip(count * struct.calcsize("<" + FIXED[kind]))
        return count
    reader.announce(count)
    for _ in range(count):
        if kind == _STRING:
            reader.skip(reader.number("Q"))
        else:
            _skip_array(reader, level + 1)
    return count


def _alignment(name: str, metadata: Mapping[str, Scalar]) -> int:
    alignment = metadata.get(_ALIGNMENT, _DEFAULT_ALIGNMENT)
    if type(alignment) is not int or alignment < 1 or alignment & (alignment - 1):
        raise Refused(f"The file {name!a} states the alignment {alignment!a}, which is no power of two.")
    return alignment


def _tensors(reader: GgufReader, count: int, alignment: int, size: int) -> tuple[str, ...]:
    found = tuple(_tensor(reader) for _ in range(count))
    twice = first_repeated(name for name, _, _ in found)
    if twice is not None:
        raise Refused(f"The file {reader.name!a} holds the tensor {twice!a} twice.")
    start = _padded(reader.place, alignment)
    end = start
    for (name, place, length), following in zip(found, _following(found, size - start), strict=True):
        if start + place != _padded(end, alignment):
            raise Refused(f"The tensors of {reader.name!a} leave a hole or overlap before {name!a}.")
        end = start + place + (following - place if length is None else length)
    # Writers differ in whether they pad the last tensor.
    if count and size not in (end, _padded(end, alignment)):
        word = "it may be truncated" if size < end else "something was appended"
        raise Refused(f"The tensors of {reader.name!a} end at byte {end}, the file at byte {size}; {word}.")
    return tuple(name for name, _, _ in found)


def _following(found: tuple[tuple[str, int, int | None], ...], end: int) -> Iterator[int]:
    """Where the tensor after each begins, which bounds one whose type is not known."""
    yield from (place for _, place, _ in found[1:])
    if found:
        yield end


def _tensor(reader: GgufReader) -> tuple[str, int, int | None]:
    """Name, place from the start of the tensors, length in bytes (None where its type is not known)."""
    name = reader.text(_MAX_NAME_BYTES)
    sides = reader.number("I")
    if sides > _MAX_SIDES:
        raise Refused(f"The tensor {name!a} of {reader.name!a} claims {sides} dimensions.")
    shape = [reader.number("Q") for _ in range(sides)]
    kind, place = reader.number("I"), reader.number("Q")
    if kind not in BLOCKS:
        return name, place, None
    items, length = BLOCKS[kind]
    elements = math.prod(shape)
    if elements % items or (shape and shape[0] % items):
        raise Refused(f"The tensor {name!a} of {reader.name!a} has a shape that its blocks of {items} do not fill.")
    return name, place, elements // items * length


def _split(name: str, metadata: Mapping[str, Scalar]) -> Split | None:
    if _SPLIT_COUNT not in metadata:
        return None
    number, count, tensors = (metadata.get(key) for key in (_SPLIT_NUMBER, _SPLIT_COUNT, _SPLIT_TENSORS))
    match number, count, tensors:
        case int(), int(), int() | None if 0 <= number < max(count, 1):
            return Split(number, count, tensors)
        case _:
            raise Refused(f"The file {name!a} states part {number} of {count}, which is no part of a split.")


def _check_parts(name: str, split: Split, parts: list[GgufFile]) -> None:
    numbers = {part.split.number for part in parts if part.split is not None and part.split.count == split.count}
    missing = set(range(split.count)) - numbers
    if missing:
        shown = ", ".join(str(number + 1) for number in sorted(missing)[:5])
        raise Refused(f"The file {name!a} is part of a split of {split.count}; parts are missing: {shown}.")
    held = sum(len(part.names) for part in parts)
    if split.tensors is not None and held != split.tensors:
        raise Refused(f"The parts of {name!a} hold {held} tensors; it promises {split.tensors}.")


def _padded(place: int, alignment: int) -> int:
    return -(-place // alignment) * alignment
