"""Says what tells two manifests apart: which section, and in it which file, token, setting or version.

The digests decide whether a section differs; everything below only explains (dna.md section 3: `repackaged` is a
mismatch too). Evidence that differs is told apart from what decides, and so is what a side was never asked: equal
digests do not make it equal, and different ones not different.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from inference_dna.canonical import Json
from inference_dna.difference.change import Change, How, Kind
from inference_dna.difference.file_changes import file_changes
from inference_dna.difference.tensor_changes import tensor_changes
from inference_dna.difference.token_changes import token_changes
from inference_dna.genome import SECTIONS
from inference_dna.manifest import Manifest
from inference_dna.measure.unasked import FILES, unasked

_VERSIONS = {
    "framework": ("engine.version", "engine.commit", "python", "packages"),
    "hardware": ("cuda", "cudnn", "driver_branch", "libraries"),
}
"""Members that hold versions; what lies below them counts too."""
_EXPLAINED = {"weights": ("files",), "tokenizer": ("files", "probe"), "postprocess": ("files",)}
"""Members told file by file or text by text instead of as values."""
_EXPLAINED_EVIDENCE = {"weights": ("tensors", "tensor_list"), "tokenizer": ("probe",), "postprocess": ("files",)}
_FOLLOWS = {
    "weights": ("load",),
    "tokenizer": ("kind", "probe", "settings"),
    "postprocess": ("code", "env", "kind", "rule", "values"),
}
"""Members that differ for no other reason than that one side was asked and the other was not. Of the stack nothing is
left where no engine was there."""


@dataclass(frozen=True, slots=True)
class SectionDifference:
    """One section on both sides. The digests are bare hex, None where a side did not measure the section.

    `changes` explain the digest; `evidence` differs too and decides nothing. `unasked` names for each side, before and
    after, the fact that nobody was asked there, None where none is missing.
    """

    section: str
    before: str | None
    after: str | None
    changes: tuple[Change, ...] = ()
    evidence: tuple[Change, ...] = ()
    unasked: tuple[str | None, str | None] = (None, None)

    @property
    def is_equal(self) -> bool:
        """Say whether both sides measured the same; a section that one side did not measure is not equal."""
        return self.before == self.after

    @property
    def is_measured(self) -> bool:
        """Say whether both sides measured it."""
        return self.before is not None and self.after is not None

    @property
    def is_proven(self) -> bool:
        """Say whether a difference is one of things that both sides measured.

        Without that it is not known whether the two are the same: the digests differ because one side was asked more.
        """
        before, after = self.unasked
        if not self.is_measured:
            return False
        if (before is None) == (after is None):
            return True
        follows = _FOLLOWS.get(self.section)
        return follows is not None and any(change.name.partition(".")[0] not in follows for change in self.changes)

    @property
    def is_repackaged(self) -> bool:
        """Say whether other files hold the same tensors."""
        return any(change.how is How.REPACKAGED for change in self.changes)


@dataclass(frozen=True, slots=True)
class Difference:
    """Two manifests side by side. `subject` holds what is named differently; it is no part of the genome."""

    subject: tuple[Change, ...]
    bind: tuple[Change, ...]
    sections: tuple[SectionDifference, ...]

    @property
    def is_equal(self) -> bool:
        """Say whether both describe the same runtime, whatever they call it."""
        return not self.bind and all(section.is_equal for section in self.sections)

    @property
    def differing(self) -> tuple[SectionDifference, ...]:
        """The sections that are not equal, in the order of the genome."""
        return tuple(section for section in self.sections if not section.is_equal)


def compare(before: Manifest, after: Manifest) -> Difference:
    """Compare two manifests that agree with themselves."""
    return Difference(
        subject=tuple(_values(_subject(before), _subject(after))),
        bind=tuple(_values({"bind": before.genome.get("bind", [])}, {"bind": after.genome.get("bind", [])})),
        sections=tuple(_section(name, before, after) for name in SECTIONS),
    )


def _subject(manifest: Manifest) -> Mapping[str, Json]:
    subject = manifest.subject
    return {} if subject is None else {"model_id": subject.model_id, "version": subject.version}


def _section(name: str, before: Manifest, after: Manifest) -> SectionDifference:
    digests = before.digests.get(name), after.digests.get(name)
    if None in digests:
        return SectionDifference(name, *digests)
    first, second = (cast("Mapping[str, Json]", manifest.genome[name]) for manifest in (before, after))
    changes = () if digests[0] == digests[1] else tuple(_changes(name, first, second))
    missing = unasked(before.genome, name), unasked(after.genome, name)
    return SectionDifference(name, *digests, changes, tuple(_evidence(name, first, second)), missing)


def _changes(name: str, before: Mapping[str, Json], after: Mapping[str, Json]) -> Iterator[Change]:
    yield from file_changes(*_deciding_files(before, after))
    if name == "weights":
        yield from tensor_changes(_member(before, "evidence"), _member(after, "evidence"))
    if name == "tokenizer":
        yield from token_changes(before, after)
    left_out = ("evidence", *_EXPLAINED.get(name, ()))
    yield from _values(_without(before, left_out), _without(after, left_out), _VERSIONS.get(name, ()))


def _evidence(name: str, before: Mapping[str, Json], after: Mapping[str, Json]) -> Iterator[Change]:
    first, second = _member(before, "evidence"), _member(after, "evidence")
    if FILES not in (before.get("kind"), after.get("kind")):
        yield from file_changes(first.get("files"), second.get("files"))
    left_out = ("files", *_EXPLAINED_EVIDENCE.get(name, ()))
    yield from _values(_without(first, left_out), _without(second, left_out))


def _deciding_files(before: Mapping[str, Json], after: Mapping[str, Json]) -> tuple[Json, Json]:
    """The files of both sides; where one is told by its files alone, those that the other keeps as evidence count."""
    if FILES not in (before.get("kind"), after.get("kind")):
        return before.get("files"), after.get("files")
    first, second = (section.get("files") or _member(section, "evidence").get("files") for section in (before, after))
    return first, second


def _values(
    before: Mapping[str, Json], after: Mapping[str, Json], versions: Sequence[str] = (), above: str = ""
) -> Iterator[Change]:
    """Compare members by name, going down where both sides have objects."""
    for name in sorted({*before, *after}):
        path = f"{above}{name}"
        if name not in after:
            yield Change(_kind(path, versions), How.REMOVED, path, before=before[name])
        elif name not in before:
            yield Change(_kind(path, versions), How.ADDED, path, after=after[name])
        else:
            yield from _member_change(path, before[name], after[name], versions)


def _member_change(path: str, before: Json, after: Json, versions: Sequence[str]) -> Iterable[Change]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        return _values(before, after, versions, f"{path}.")
    # 1, 1.0 and true are three values to the digest and one to Python.
    if type(before) is type(after) and before == after:
        return ()
    return (Change(_kind(path, versions), How.CHANGED, path, before, after),)


def _kind(path: str, versions: Sequence[str]) -> Kind:
    is_version = any(path == member or path.startswith(f"{member}.") for member in versions)
    return Kind.VERSION if is_version else Kind.SETTING


def _member(section: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    value = section.get(name)
    return value if isinstance(value, Mapping) else {}


def _without(members: Mapping[str, Json], names: Sequence[str]) -> dict[str, Json]:
    return {name: value for name, value in members.items() if name not in names}
