"""Finds the regular files below a folder and judges its links (dna.md section 3).

Rules this file holds: a link is followed only to a target inside the folder, or inside the cache repository that holds
it; it is listed under its own path. A link that leaves, dangles or loops is refused, and so are devices, sockets and
FIFOs. Hidden entries are listed and not followed: nothing of them is read. No model has more files than `MOST_FILES` or
folders deeper than `DEEPEST`: links from folder to folder could make billions of names.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from inference_dna.canonical import Refused
from inference_dna.files import check_name
from inference_dna.measure.places import is_hidden
from inference_dna.measure.reading import reading_errors

MOST_FILES, DEEPEST = 100_000, 100


@dataclass(frozen=True, slots=True)
class Found:
    """A regular file, or a hidden link: name relative to the folder, where its content lies, size in bytes."""

    name: str
    path: Path
    size: int


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder on the way down: its real path, how names in it begin, the real paths above it."""

    path: Path
    prefix: str
    above: tuple[Path, ...]


def list_folder(root: Path) -> tuple[Found, ...]:
    """List every regular file below a folder, sorted by name.

    Raises:
        Refused: The folder cannot be read, an entry breaks a rule above, or a name is not UTF-8.
    """
    with reading_errors(f"the folder {str(root)!a}"):
        real = root.resolve(strict=True)
        found = list(islice(_walk(_Folder(real, "", ()), _bounds(real)), MOST_FILES + 1))
    if len(found) > MOST_FILES:
        raise Refused(f"The folder {str(root)!a} holds more than {MOST_FILES} files; it is no model's.")
    return tuple(sorted(found, key=lambda entry: entry.name))


def find_file(root: Path, name: str) -> Found | None:
    """Find one regular file below a folder, under the rules that hold for all; None where there is none.

    Args:
        root: The folder.
        name: The file's name relative to it.

    Raises:
        Refused: The name leaves the folder, or an entry breaks a rule above.
    """
    check_name(name)
    with reading_errors(f"the folder {str(root)!a}"):
        real = root.resolve(strict=True)
        path = real / name
        if not os.path.lexists(path):
            return None
        # A folder on the way may be a link as well as the file itself: what counts is where both lead together.
        target = _target(name, path, _bounds(real))
        status = os.lstat(target)
    if not stat.S_ISREG(status.st_mode):
        raise Refused(f"The entry {name!a} is no regular file; devices, sockets and FIFOs have no digest.")
    return Found(name, target, status.st_size)


def _bounds(root: Path) -> tuple[Path, ...]:
    """Where link targets may lie: the folder, and `snapshots` and `blobs` of the cache repository around it."""
    for folder in root.parents:
        blobs = folder.parent / "blobs"
        if folder.name == "snapshots" and blobs.is_dir():
            return (root, folder, blobs)
    return (root,)


def _walk(folder: _Folder, bounds: tuple[Path, ...]) -> Iterator[Found]:
    for entry in sorted(folder.path.iterdir()):
        name = folder.prefix + entry.name
        check_name(name)
        is_link, hidden = entry.is_symlink(), is_hidden(name)
        path = _target(name, entry, bounds) if is_link and not hidden else entry
        status = os.lstat(path)
        if stat.S_ISREG(status.st_mode) or (is_link and hidden):
            yield Found(name, path, status.st_size)
        elif stat.S_ISDIR(status.st_mode):
            yield from _walk(_below(folder, name, path), bounds)
        else:
            raise Refused(f"The entry {name!a} is no regular file; devices, sockets and FIFOs have no digest.")


def _target(name: str, link: Path, bounds: tuple[Path, ...]) -> Path:
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError) as error:  # Python 3.11 reports a loop as RuntimeError, later ones as OSError
        raise Refused(f"The link {name!a} dangles or loops.") from error
    if not any(target.is_relative_to(bound) for bound in bounds):
        raise Refused(f"The link {name!a} leaves the model folder.")
    return target


def _below(folder: _Folder, name: str, path: Path) -> _Folder:
    above = (*folder.above, folder.path)
    if len(above) > DEEPEST:
        raise Refused(f"The folder {name!a} lies more than {DEEPEST} folders deep; it is no model's.")
    if path in above:
        raise Refused(f"The link {name!a} loops: it leads to a folder that holds it.")
    return _Folder(path, f"{name}/", above)
