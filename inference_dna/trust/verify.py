"""Compares a model folder with the manifest that describes it: nothing extra, missing or changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path

from inference_dna.canonical import Json, Refused
from inference_dna.digest import ALGORITHM
from inference_dna.files import FileEntry, parse_files
from inference_dna.genome import ARTIFACT_SECTIONS
from inference_dna.manifest import Manifest
from inference_dna.measure.adapters import measure_adapter
from inference_dna.measure.hashing import Task, hash_files
from inference_dna.measure.listing import Found, find_file, list_folder
from inference_dna.measure.pickles import find_pickles
from inference_dna.measure.places import Place, place_of
from inference_dna.measure.work import Work

WRITTEN_AFTER = ("manifest*.json", "manifest*.json.sig", "manifest*.json.asc")
"""At the top of the folder: what comes into being after the manifest's own measurement."""
_OUTSIDE = "extra/"


class Fault(StrEnum):
    """What is wrong with one file."""

    EXTRA = "extra"
    MISSING = "missing"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Finding:
    """One file that is not as the manifest says; `reason` is a sentence part."""

    fault: Fault
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Beside:
    """What belongs to a model and lies outside its folder, by the names the manifest gives it.

    `files` holds a file or a folder for each label of `extra/<label>/…`, `adapters` a folder for each adapter.
    """

    files: Mapping[str, Path] = field(default_factory=dict)
    adapters: Mapping[str, Path] = field(default_factory=dict)


def verify_folder(
    manifest: Manifest, root: Path, work: Work | None = None, *, beside: Beside | None = None
) -> tuple[Finding, ...]:
    """Compare every file of a model with the manifest.

    Files that rule `files/1` leaves out have no digest in a manifest: their names must be listed there, their content
    is not compared. The manifest itself and its signatures may lie in the folder.

    Args:
        manifest: What was promised. Who signed it is judged elsewhere.
        root: The folder; for a model that is one file, that file.
        work: How files are hashed.
        beside: What lies outside the folder.

    Raises:
        Refused: A file cannot be read, or the folder cannot be listed: it is missing, or a link leaves it, dangles or
            loops.
    """
    expected, outside = expected_files(manifest), beside or Beside()
    found = {entry.name: entry for entry in (*_listed(root, expected), *_listed_beside(outside.files))}
    faults = [*_changed(found, expected, work or Work()), *_adapters(manifest, outside.adapters, work)]
    faults += [Finding(Fault.MISSING, name, _why_missing(name)) for name in expected.keys() - found.keys()]
    may_be_there = _allowed(manifest)
    faults += [
        Finding(Fault.EXTRA, name, "the manifest does not list it")
        for name in found.keys() - expected.keys()
        if not may_be_there(name)
    ]
    return in_order(faults)


def held_pickles(manifest: Manifest, root: Path) -> tuple[str, ...]:
    """Name those files of a model that hold a pickle, whoever signed them.

    Raises:
        Refused: As `verify_folder`.
    """
    listed = _listed(root, expected_files(manifest))
    return find_pickles(found for found in listed if place_of(found.name) is not Place.IGNORED)


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Sort findings by file."""
    return tuple(sorted(findings, key=lambda finding: (finding.name, finding.fault)))


def differing(measured: str, expected: str) -> str:
    """Say that a file has another hash; both are 64 hex."""
    return f"sha256 {measured[:12]} instead of {expected[:12]}"


def expected_files(manifest: Manifest) -> dict[str, FileEntry]:
    """List every file the manifest names, by name, those that are evidence included.

    Raises:
        Refused: One name stands in two sections with different contents.
    """
    expected: dict[str, FileEntry] = {}
    for entry in _entries(manifest):
        if expected.setdefault(entry.name, entry) != entry:
            raise Refused(f"The manifest names {entry.name!a} twice, with different contents.")
    return expected


def _entries(manifest: Manifest) -> Iterator[FileEntry]:
    for name in ARTIFACT_SECTIONS:
        section = manifest.genome[name]
        for files in (_members(section).get("files"), _evidence(section).get("files")):
            if files:
                yield from parse_files(files)


def _members(section: Json) -> Mapping[str, Json]:
    return section if isinstance(section, Mapping) else {}


def _evidence(section: Json) -> Mapping[str, Json]:
    return _members(_members(section).get("evidence"))


def _changed(found: Mapping[str, Found], expected: Mapping[str, FileEntry], work: Work) -> Iterator[Finding]:
    same_size = []
    for name in found.keys() & expected.keys():
        if found[name].size == expected[name].size:
            same_size.append(Task(found[name]))
        else:
            yield Finding(Fault.CHANGED, name, f"{found[name].size} bytes instead of {expected[name].size}")
    for name, hashed in hash_files(same_size, work).items():
        measured = hashed.content.entry
        if measured != expected[name]:
            yield Finding(Fault.CHANGED, name, differing(measured.sha256, expected[name].sha256))


def _listed(root: Path, expected: Iterable[str]) -> Iterator[Found]:
    """Every file below a folder; of a model that is one file, those that it cannot be loaded without."""
    if not root.is_file():
        yield from list_folder(root)
        return
    for name in expected:
        found = find_file(root.parent, name)
        if found is not None:
            yield found


def _listed_beside(files: Mapping[str, Path]) -> Iterator[Found]:
    for label, path in files.items():
        if path.is_file():
            yield Found(f"{_OUTSIDE}{label}/{path.name}", path.resolve(), path.stat().st_size)
        else:
            yield from (replace(found, name=f"{_OUTSIDE}{label}/{found.name}") for found in list_folder(path))


def _adapters(manifest: Manifest, folders: Mapping[str, Path], work: Work | None) -> Iterator[Finding]:
    promised = _members(manifest.genome["weights"]).get("adapters", [])
    by_name = {
        str(_members(adapter).get("name")): _members(adapter).get("digest")
        for adapter in (promised if isinstance(promised, list) else ())
    }
    for name in by_name.keys() - folders.keys():
        yield Finding(Fault.MISSING, f"adapter {name}", f"say where it lies: --adapter {name}=DIR")
    for name, folder in folders.items():
        if name not in by_name:
            yield Finding(Fault.EXTRA, f"adapter {name}", "the manifest does not list it")
        elif by_name[name] != ALGORITHM + measure_adapter(name, folder, work=work).digest:
            yield Finding(Fault.CHANGED, f"adapter {name}", "its files are others")


def _why_missing(name: str) -> str:
    if name.startswith(_OUTSIDE):
        label = name.split("/")[1]
        return f"it lies outside the folder; say where: --extra {label}=PATH"
    return "the manifest lists it, the folder has it not"


def _allowed(manifest: Manifest) -> Callable[[str], bool]:
    """Which files may lie there without a digest: what was ignored when the folder was measured, and manifests."""
    weights = _members(manifest.genome["weights"])
    ignored = frozenset(_names(_evidence(weights).get("ignored")))
    globs = tuple(_names(weights.get("exclude")))

    def may_be_there(name: str) -> bool:
        last = name.rpartition("/")[2]
        if place_of(name) is not Place.IGNORED:
            # A weight file was left out only where a glob of the manifest, which is in its digest, leaves it out.
            return name in ignored and any(fnmatchcase(last, glob) for glob in globs)
        return name in ignored or ("/" not in name and any(fnmatchcase(name, one) for one in WRITTEN_AFTER))

    return may_be_there


def _names(value: Json) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list | tuple) else []
