"""Measures a model folder: every file in its place, hashed (dna.md section 3, rule `files/1`)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from inference_dna.canonical import Json, Refused
from inference_dna.files import FileEntry
from inference_dna.measure.listing import Found, list_folder
from inference_dna.measure.places import RULE, Place, matches, place_of
from inference_dna.measure.reading import Content, read_content, reading_errors, steady
from inference_dna.measure.safetensors import INDEX_SUFFIX, SUFFIX, check_index, read_tensor_names

_NEVER_EXCLUDED = ("*.py", "*.jinja")
_THREADS = 4


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A measured folder. `kept` holds the bytes that were asked for, the very ones that were hashed."""

    weights: tuple[FileEntry, ...]
    tokenizer: tuple[FileEntry, ...]
    postprocess: tuple[FileEntry, ...]
    ignored: tuple[str, ...]
    exclude: tuple[str, ...] = ()
    kept: Mapping[str, bytes] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class _Read:
    content: Content
    tensors: frozenset[str] | None


def measure_folder(root: Path, *, exclude: Sequence[str] = (), keep: Collection[str] = ()) -> ModelFolder:
    """Sort every file of a model folder into its place and hash it.

    Args:
        root: The folder as the engine was given it.
        exclude: Globs over last components; weight files they match are left out, and the globs enter the digest.
        keep: Names of files whose bytes the caller wants to load.

    Raises:
        Refused: The folder cannot be read, breaks a rule of dna.md section 3, holds no weights, or changed meanwhile.
    """
    globs = tuple(sorted(set(exclude)))
    found = list_folder(root)
    placed = {entry.name: _placed(entry.name, globs) for entry in found}
    wanted = [entry for entry in found if placed[entry.name] is not Place.IGNORED]
    read = _read_all(wanted, {*keep, *(entry.name for entry in wanted if entry.name.endswith(INDEX_SUFFIX))})
    entries = {place: tuple(_entries(read, placed, place)) for place in Place}
    _check_structure(read, entries[Place.WEIGHTS])
    return ModelFolder(
        weights=entries[Place.WEIGHTS],
        tokenizer=entries[Place.TOKENIZER],
        postprocess=entries[Place.POSTPROCESS],
        ignored=tuple(name for name, place in placed.items() if place is Place.IGNORED),
        exclude=globs,
        kept={name: _kept(read, name) for name in keep},
    )


def weights_section(
    folder: ModelFolder, *, format_name: str, load: Mapping[str, Json], evidence: Mapping[str, Json] | None = None
) -> dict[str, Json]:
    """Write the weights section of a worker without adapters.

    Args:
        folder: The measured folder.
        format_name: How the weights are stored: `onnx`, `safetensors`.
        load: `dtype` and `quantization` as the engine holds them, not as they were asked for.
        evidence: Facts for people, such as the source.
    """
    return {
        "kind": "folder",
        "format": format_name,
        "rule": RULE,
        "files": [entry.document() for entry in folder.weights],
        "exclude": list(folder.exclude),
        "adapters": [],
        "load": dict(load),
        "evidence": {"ignored": list(folder.ignored), **(evidence or {})},
    }


def _placed(name: str, exclude: tuple[str, ...]) -> Place:
    place, last = place_of(name), name.rpartition("/")[2]
    if place is not Place.WEIGHTS or not matches(last, exclude):
        return place
    if matches(last, _NEVER_EXCLUDED):
        raise Refused(f"The file {name!a} cannot be left out: code and templates are always part of the weights.")
    return Place.IGNORED


def _read_all(found: Sequence[Found], keep: Collection[str]) -> dict[str, _Read]:
    # Largest first, or one large file is still being hashed when all else is done.
    ordered = sorted(found, key=lambda entry: entry.size, reverse=True)
    with ThreadPoolExecutor(_THREADS, "hash") as pool:
        read = pool.map(lambda entry: _read(entry, keep=entry.name in keep), ordered)
        by_name = {result.content.entry.name: result for result in read}
    return {entry.name: by_name[entry.name] for entry in found}


def _read(found: Found, *, keep: bool) -> _Read:
    name = found.name
    with reading_errors(f"the file {name!a}"), found.path.open("rb") as stream, steady(stream, name) as size:
        tensors = read_tensor_names(stream, name, size) if name.endswith(SUFFIX) else None
        return _Read(read_content(stream, name, keep=keep), tensors)


def _entries(read: Mapping[str, _Read], placed: Mapping[str, Place], place: Place) -> Iterable[FileEntry]:
    return [result.content.entry for name, result in read.items() if placed[name] is place]


def _check_structure(read: Mapping[str, _Read], weights: Sequence[FileEntry]) -> None:
    names = [entry.name for entry in weights]
    if not names:
        raise Refused("The folder holds no weights.")
    tensors = {name: found for name in names if (found := read[name].tensors) is not None}
    for name in names:
        if name.endswith(INDEX_SUFFIX):
            check_index(name, read[name].content.kept or b"", names, tensors)


def _kept(read: Mapping[str, _Read], name: str) -> bytes:
    kept = read[name].content.kept if name in read else None
    if kept is None:
        raise Refused(f"The model folder has no file {name!a} to load.")
    return kept
