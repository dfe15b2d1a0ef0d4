"""Measures a model: a folder or a file, every file in its place, hashed (dna.md section 3, rule `files/1`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from inference_dna.assurance import Assurance
from inference_dna.canonical import Json, Refused
from inference_dna.digest import ALGORITHM
from inference_dna.files import FileEntry, TensorEntry
from inference_dna.measure.hashing import Hashed, Task, hash_files
from inference_dna.measure.inside import Part
from inference_dna.measure.listing import Found, list_folder
from inference_dna.measure.parts import Looked, find_parts, look
from inference_dna.measure.pickles import find_pickles, pickles_evidence
from inference_dna.measure.places import RULE, Place, matches, place_of
from inference_dna.measure.structure import check_parts, format_of
from inference_dna.measure.tensors import hash_tensors, tensors_evidence
from inference_dna.measure.work import Work

FOLDER, FILE = "folder", "file"

_NEVER_EXCLUDED = ("*.py", "*.jinja")


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A measured model. `kept` holds the bytes that were asked for, the very ones that were hashed.

    Attributes:
        weights: Entries of the weights section; likewise `tokenizer` and `postprocess`.
        ignored: Names that belong to no section.
        exclude: The globs that were given.
        kept: Bytes by name.
        kind: `folder`, or `file` for a model that is one file with those it names.
        form: How the weights are stored, as `weights.format` names it.
        code: Programs inside weight files by file, such as the sources of a TorchScript archive.
        cached: Names of files whose digest is from an earlier time.
        pickles: Names of files that hold a pickle; nothing here loads them.
        tensor_names: Names of the tensors in those weight files that tell them.
        tensors: Every tensor with its digest, where that was asked for and the format tells tensors apart.
    """

    weights: tuple[FileEntry, ...]
    tokenizer: tuple[FileEntry, ...]
    postprocess: tuple[FileEntry, ...]
    ignored: tuple[str, ...]
    exclude: tuple[str, ...] = ()
    kept: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    kind: str = FOLDER
    form: str = ""
    code: Mapping[str, tuple[FileEntry, ...]] = field(default_factory=dict)
    cached: tuple[str, ...] = ()
    pickles: tuple[str, ...] = ()
    tensor_names: frozenset[str] = field(default=frozenset(), repr=False)
    tensors: tuple[TensorEntry, ...] | None = field(default=None, repr=False)

    @property
    def assurance(self) -> Assurance:
        """How far the measurement reaches: one digest from an earlier time makes all of it `stat-cached`."""
        return Assurance.STAT_CACHED if self.cached else Assurance.FULL_HASH


def measure_model(
    path: Path, *, exclude: Sequence[str] = (), keep: Collection[str] = (), work: Work | None = None
) -> ModelFolder:
    """Measure what an engine was given: a folder, or a file.

    Raises:
        Refused: As `measure_folder` and `measure_file` say; a file with globs to exclude.
    """
    if path.is_dir():
        return measure_folder(path, exclude=exclude, keep=keep, work=work)
    if exclude:
        raise Refused(f"Nothing can be left out of {str(path)!a}: it is a single file.")
    return measure_file(path, keep=keep, work=work)


def measure_folder(
    root: Path, *, exclude: Sequence[str] = (), keep: Collection[str] = (), work: Work | None = None
) -> ModelFolder:
    """Sort every file of a model folder into its place, judge the structure of the weights, then hash.

    Args:
        root: The folder as the engine was given it.
        exclude: Globs over last components; weight files they match are left out, and the globs enter the digest.
        keep: Names of files whose bytes the caller wants to load.
        work: Threads, progress, cache; none of it changes a digest.

    Raises:
        Refused: The folder cannot be read, breaks a rule of dna.md section 3, holds no weights or a file that is not
            what it claims to be, or changed meanwhile.
    """
    globs = tuple(sorted(set(exclude)))
    found = list_folder(root)
    placed = {entry.name: _placed(entry.name, globs) for entry in found}
    looked = _looked(found, placed)
    wanted = [entry for entry in found if placed[entry.name] is not Place.IGNORED]
    ignored = tuple(name for name, place in placed.items() if place is Place.IGNORED)
    return _measured(wanted, looked, placed, _Asked(FOLDER, ignored, globs, keep, work or Work()))


def check_folder(root: Path) -> None:
    """Judge the structure of a model folder as `measure_folder` does, and hash nothing.

    Raises:
        Refused: As `measure_folder` says.
    """
    found = list_folder(root)
    _looked(found, {entry.name: place_of(entry.name) for entry in found})


def measure_file(path: Path, *, keep: Collection[str] = (), work: Work | None = None) -> ModelFolder:
    """Measure a model that is one file, with the files it cannot be loaded without: shards, splits, external data.

    Args:
        path: The file as the engine was given it; names are relative to its folder.
        keep: As in `measure_folder`.
        work: As in `measure_folder`.

    Raises:
        Refused: A file cannot be read, is not what it claims to be, is missing, or changed meanwhile.
    """
    looked = find_parts(path)
    _check(looked)
    wanted = [part.found for part in looked.values()]
    placed = dict.fromkeys(looked, Place.WEIGHTS)
    return _measured(wanted, looked, placed, _Asked(FILE, (), (), keep, work or Work()))


def weights_section(
    folder: ModelFolder,
    *,
    format_name: str,
    load: Mapping[str, Json],
    evidence: Mapping[str, Json] | None = None,
    adapters: Mapping[str, str] | None = None,
) -> dict[str, Json]:
    """Write the weights section.

    Args:
        folder: The measured model.
        format_name: How the weights are stored: `onnx`, `safetensors`.
        load: `dtype` and `quantization` as the engine holds them, not as they were asked for.
        evidence: Facts for people, such as the source.
        adapters: Bare files digest of each adapter by its name (`measure_adapter`).
    """
    return {
        "kind": folder.kind,
        "format": format_name,
        "rule": RULE if folder.kind == FOLDER else None,
        "files": [entry.document() for entry in folder.weights],
        "exclude": list(folder.exclude),
        "adapters": [{"name": name, "digest": ALGORITHM + digest} for name, digest in sorted((adapters or {}).items())],
        "load": dict(load),
        "evidence": {
            "ignored": list(folder.ignored),
            **pickles_evidence(folder.pickles),
            **tensors_evidence(folder.tensors),
            **(evidence or {}),
        },
    }


@dataclass(frozen=True, slots=True)
class _Asked:
    kind: str
    ignored: tuple[str, ...]
    exclude: tuple[str, ...]
    keep: Collection[str]
    work: Work


def _measured(
    wanted: Sequence[Found], looked: Mapping[str, Looked], placed: Mapping[str, Place], asked: _Asked
) -> ModelFolder:
    parts = {name: part.part for name, part in looked.items()}
    hashed = hash_files([_task(found, looked, asked.keep) for found in wanted], asked.work)
    entries = {place: tuple(_entries(hashed, placed, place)) for place in Place}
    return ModelFolder(
        weights=entries[Place.WEIGHTS],
        tokenizer=entries[Place.TOKENIZER],
        postprocess=entries[Place.POSTPROCESS],
        ignored=asked.ignored,
        exclude=asked.exclude,
        kept={name: _kept(hashed, name) for name in asked.keep},
        kind=asked.kind,
        form=format_of(parts),
        code={name: part.inside.code for name, part in parts.items() if part.inside is not None and part.inside.code},
        cached=tuple(name for name, result in hashed.items() if result.cached),
        pickles=find_pickles(wanted),
        tensor_names=_tensor_names(parts.values()),
        tensors=hash_tensors(looked, asked.work) if asked.work.tensors else None,
    )


def _looked(found: Sequence[Found], placed: Mapping[str, Place]) -> dict[str, Looked]:
    looked = look([entry for entry in found if placed[entry.name] is Place.WEIGHTS])
    if not looked:
        raise Refused("The folder holds no weights.")
    _check(looked)
    return looked


def _check(looked: Mapping[str, Looked]) -> None:
    check_parts({name: part.part for name, part in looked.items()})


def _placed(name: str, exclude: tuple[str, ...]) -> Place:
    place, last = place_of(name), name.rpartition("/")[2]
    if place is not Place.WEIGHTS or not matches(last, exclude):
        return place
    if matches(last, _NEVER_EXCLUDED):
        raise Refused(f"The file {name!a} cannot be left out: code and templates are always part of the weights.")
    return Place.IGNORED


def _task(found: Found, looked: Mapping[str, Looked], keep: Collection[str]) -> Task:
    seen = looked[found.name].state if found.name in looked else None
    return Task(found, keep=found.name in keep, seen=seen)


def _entries(hashed: Mapping[str, Hashed], placed: Mapping[str, Place], place: Place) -> list[FileEntry]:
    return [result.content.entry for name, result in hashed.items() if placed[name] is place]


def _tensor_names(parts: Collection[Part]) -> frozenset[str]:
    named = [part.inside.tensors for part in parts if part.inside is not None and part.inside.tensors is not None]
    return frozenset[str]().union(*named)


def _kept(hashed: Mapping[str, Hashed], name: str) -> bytes:
    kept = hashed[name].content.kept if name in hashed else None
    if kept is None:
        raise Refused(f"The model folder has no file {name!a} to load.")
    return kept
