"""Opens weight files to look inside, and finds those that a single file cannot be loaded without."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from inference_dna.canonical import Refused
from inference_dna.measure.inside import Part
from inference_dna.measure.listing import Found, find_file
from inference_dna.measure.onnx import OnnxFile
from inference_dna.measure.reading import FileState, check_unchanged, file_state, open_regular, reading_errors
from inference_dna.measure.safetensors import IndexFile
from inference_dna.measure.shards import shard_of
from inference_dna.measure.structure import inspect


@dataclass(frozen=True, slots=True)
class Looked:
    """A weights file that was looked into, and the state it was in; hashing must find it in the same one."""

    found: Found
    part: Part
    state: FileState


def look(found: Iterable[Found]) -> dict[str, Looked]:
    """Look into weight files.

    Raises:
        Refused: One cannot be read, is not what it claims to be, or changed meanwhile.
    """
    return {each.name: _look(each) for each in found}


def find_parts(path: Path) -> dict[str, Looked]:
    """Look into a file and into all it names: shards of its set or index, external data.

    Raises:
        Refused: As `look`; a file is missing, or a link leaves the folder.
    """
    with reading_errors(f"the model {str(path)!a}"):
        first = Found(path.name, path.resolve(strict=True), path.stat().st_size)
    looked: dict[str, Looked] = {}
    waiting = [first]
    while waiting:
        found = waiting.pop()
        looked[found.name] = _look(found)
        more = sorted({*_named(looked[found.name])} - looked.keys() - {each.name for each in waiting})
        waiting += [_found(path.parent, name, by=found.name) for name in more]
    return {name: looked[name] for name in sorted(looked)}


def _look(found: Found) -> Looked:
    name = found.name
    with reading_errors(f"the file {name!a}"), open_regular(found.path, name) as stream:
        state = file_state(stream)
        part = Part(state.size, inspect(stream, name, state.size))
        check_unchanged(stream, name, state)
        return Looked(found, part, state)


def _named(looked: Looked) -> Iterable[str]:
    """Names relative to the folder, of whatever the file cannot be loaded without."""
    name = looked.found.name
    shard = shard_of(name)
    yield from shard.siblings() if shard is not None else ()
    yield from (posixpath.join(posixpath.dirname(name), each) for each in _beside(looked.part))


def _beside(part: Part) -> Iterable[str]:
    match part.inside:
        case OnnxFile(external=external):
            return external
        case IndexFile(weight_map=weight_map):
            return weight_map.values()
        case _:
            return ()


def _found(folder: Path, name: str, *, by: str) -> Found:
    found = find_file(folder, name)
    if found is None:
        raise Refused(f"The file {by!a} cannot be loaded without {name!a}, which is missing.")
    return found
