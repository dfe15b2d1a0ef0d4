"""Measures the serving framework: packages, their records, environment, threads (provenance.md section 5)."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from inference_dna.canonical import Json, Refused
from inference_dna.digest import ALGORITHM, hashed
from inference_dna.files import FileEntry, escaped, files_digest
from inference_dna.measure.environment import RULE, shaping_environment
from inference_dna.measure.listing import Found, list_folder
from inference_dna.measure.places import is_hidden
from inference_dna.measure.reading import read_content, reading_errors

Find = Callable[[str], Distribution]
"""Installed metadata of one package by its name; raises `PackageNotFoundError`."""


@dataclass(frozen=True, slots=True)
class Package:
    """One installed package: version with its local part, and the hash of its RECORD file or of its edited tree."""

    name: str
    version: str
    record: str


def read_package(name: str, find: Find = distribution) -> Package:
    """Read one package that takes part in inference from the metadata of this interpreter.

    Raises:
        Refused: The package is not installed, or nothing tells which files it has.
    """
    try:
        found = find(name)
    except PackageNotFoundError as error:
        raise Refused(f"The package {name!a} is not installed.") from error
    tree = _edited_tree(found)
    return Package(name, found.version, _record_hash(name, found) if tree is None else _tree_digest(tree))


def read_packages(names: Iterable[str], find: Find = distribution) -> tuple[Package, ...]:
    """Read those of some packages that are installed, sorted by name.

    Raises:
        Refused: Nothing tells which files one of them has.
    """
    return tuple(read_package(name, find) for name in sorted(names) if _is_installed(name, find))


def commits(names: Iterable[str], find: Find = distribution) -> dict[str, str]:
    """Name the commits of packages that were installed from a repository, by package."""
    told = {name: json.loads(find(name).read_text("direct_url.json") or "{}") for name in names}
    return {name: commit for name, origin in told.items() if (commit := origin.get("vcs_info", {}).get("commit_id"))}


def records_digest(packages: Iterable[Package]) -> str:
    """Compute `H("records", lines)`, 64 bare hex; it sees a patched wheel under an unchanged version."""
    ordered = sorted(packages, key=lambda package: package.name)
    return hashed("records", "".join([f"{package.record}  {escaped(package.name)}\n" for package in ordered]))


def framework_section(
    packages: Sequence[Package],
    *,
    engine: Mapping[str, Json],
    environ: Mapping[str, str],
    flags: Mapping[str, Json],
    parallel: Mapping[str, Json],
    deterministic: Mapping[str, Json],
    evidence: Mapping[str, Json] | None = None,
) -> dict[str, Json]:
    """Write the framework section of the process that calls.

    Args:
        packages: Every package that takes part in inference.
        engine: `name`, `version` and `commit` of the engine; None where it tells no commit.
        environ: This process's environment; rule `env/1` chooses from it.
        flags: What shapes computation, as the engine resolved it.
        parallel: How the work is split, threads included where they change the order of sums.
        deterministic: What the engine promises about repeated runs.
        evidence: Further facts for people, such as commits.
    """
    return {
        "engine": dict(engine),
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "packages": {package.name: package.version for package in packages},
        "records": ALGORITHM + records_digest(packages),
        "flags": dict(flags),
        "env_rule": RULE,
        "env": shaping_environment(environ),
        "parallel": dict(parallel),
        "deterministic": dict(deterministic),
        "evidence": {
            "python_full": platform.python_version(),
            "implementation": platform.python_implementation(),
            **(evidence or {}),
        },
    }


def _is_installed(name: str, find: Find) -> bool:
    try:
        find(name)
    except PackageNotFoundError:
        return False
    return True


def _record_hash(name: str, found: Distribution) -> str:
    for file in found.files or ():
        if file.name == "RECORD" and file.parent.name.endswith(".dist-info"):
            with reading_errors(f"the RECORD of {name!a}"):
                return sha256(Path(str(found.locate_file(file))).read_bytes()).hexdigest()
    raise Refused(f"The package {name!a} has no RECORD; nothing tells which files it has.")


def _edited_tree(found: Distribution) -> Path | None:
    """The source tree of an editable install, whose RECORD lists nothing of what runs."""
    origin = json.loads(found.read_text("direct_url.json") or "{}")
    if not origin.get("dir_info", {}).get("editable"):
        return None
    return Path(url2pathname(urlsplit(origin["url"]).path))


def _tree_digest(tree: Path) -> str:
    visible = [file for file in list_folder(tree) if not is_hidden(file.name)]
    return files_digest([_entry(file) for file in visible])


def _entry(file: Found) -> FileEntry:
    with reading_errors(f"the file {file.name!a}"), file.path.open("rb") as stream:
        return read_content(stream, file.name, keep=False).entry
