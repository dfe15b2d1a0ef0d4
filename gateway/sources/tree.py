"""Walk a folder of documents and take each file's stamp, without reading any.

Symbolic links are followed, because a Kubernetes ConfigMap is made of them; a link back into a folder that is being
walked is a fault, not a loop. What cannot be looked at is reported, never taken for absent.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gateway.printable import printable
from gateway.sources.breaks import no_break
from gateway.sources.paths import TOP_FOLDERS, is_passed_over

Stamp = tuple[int, int, int, int, int]
"""Device, inode, size, mtime_ns, ctime_ns: equal stamps mean unchanged content."""
_BETWEEN_BREAKS = 64
"""Files of one folder."""


def unwatched(_: str) -> None:
    """Let changes in this folder go unnoticed."""


@dataclass(slots=True)
class Listing:
    """What one walk saw; filled while walking, only read afterwards.

    Attributes:
        root: The folder that holds `contracts/` and `routes/`.
        files: Stamp by path under the root.
        faults: By path: why a file or folder cannot be looked at.
        problems: Sentences about the folder as a whole.
        tops: The top folders that could be listed.
        complete: No top folder is there that could not be listed.
        take_break: See `walk`.
        watch: See `walk`.
    """

    root: Path
    files: dict[str, Stamp] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    tops: set[str] = field(default_factory=set)
    complete: bool = True
    take_break: Callable[[], None] = no_break
    watch: Callable[[str], None] = unwatched


def stamp_of(status: os.stat_result) -> Stamp:
    """Take the stamp of a file."""
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def walk(
    folder: Path, *, take_break: Callable[[], None] = no_break, watch: Callable[[str], None] = unwatched
) -> Listing:
    """List every file below `folder` that may be a document. Never raises for what the file system does.

    Args:
        folder: The folder.
        take_break: Is called again and again, at least once for each folder.
        watch: Is told every folder whose changes can change the outcome, before it is looked into.
    """
    watch(str(folder))
    listing = Listing(_root(folder), take_break=take_break, watch=watch)
    watch(str(listing.root))
    present = [top for top in TOP_FOLDERS if os.path.isdir(listing.root / top)]
    if not present:
        listing.problems.append(_nothing_there(folder))
    for top in present:
        if _walk_top(listing, top):
            listing.tops.add(top)
        else:
            listing.complete = False
    return listing


def _walk_top(listing: Listing, top: str) -> bool:
    try:
        status = os.stat(listing.root / top)
    except OSError as error:  # it was there a moment ago
        listing.problems.append(f"the folder {top} cannot be looked at: {error.strerror}")
        return False
    return _walk_folder(listing, top, status, ())


def _root(folder: Path) -> Path:
    """Choose `DIR/inference` where only that has the folders of documents (an export of the whole key tree)."""
    inner = folder / "inference"
    if _has_documents(inner) and not _has_documents(folder):
        return inner
    return folder


def _has_documents(folder: Path) -> bool:
    return any(os.path.isdir(folder / top) for top in TOP_FOLDERS)


def _nothing_there(folder: Path) -> str:
    try:
        os.listdir(folder)
    except OSError as error:
        return f"the folder {printable(str(folder))} cannot be read: {error.strerror}"
    return f"the folder {printable(str(folder))} has neither contracts/ nor routes/ in it"


def _walk_folder(listing: Listing, path: str, status: os.stat_result, above: tuple[tuple[int, int], ...]) -> bool:
    """Walk one folder and those below; return whether this one could be listed.

    There may be thousands of folders, so text is joined by hand: a `Path` costs more than the system call.
    """
    identity = (status.st_dev, status.st_ino)
    if identity in above:
        listing.faults[path] = "is a link back into a folder above it"
        return False
    listing.watch(f"{listing.root}/{path}")
    try:
        with os.scandir(f"{listing.root}/{path}") as entries:
            below = [entry for entry in _with_breaks(listing, entries) if not is_passed_over(entry.name)]
    except OSError as error:
        listing.problems.append(f"the folder {path} cannot be read: {error.strerror}")
        return False
    for inner, inner_status in _take_files(listing, path, below):
        _walk_folder(listing, inner, inner_status, (*above, identity))
    return True


def _take_files(listing: Listing, path: str, entries: list[os.DirEntry[str]]) -> Iterator[tuple[str, os.stat_result]]:
    """Record the files among `entries` and yield the paths of the folders with their status."""
    for entry in _with_breaks(listing, entries):
        inner = f"{path}/{entry.name}"
        if not inner.isprintable():
            listing.faults[printable(inner)] = "has a name with characters that cannot be printed"
            continue
        try:
            status = entry.stat()
        except OSError as error:
            # What was removed since the folder was listed is not seen, which is no fault; a link to nothing is one.
            if not isinstance(error, FileNotFoundError) or entry.is_symlink():
                listing.faults[inner] = f"cannot be looked at: {error.strerror}"
            continue
        if stat.S_ISDIR(status.st_mode):
            yield inner, status
        elif stat.S_ISREG(status.st_mode):
            listing.files[inner] = stamp_of(status)
            if entry.is_symlink():
                listing.watch(os.path.dirname(os.path.realpath(entry.path)))
        else:
            listing.faults[inner] = "is not a regular file"


def _with_breaks(listing: Listing, entries: Iterable[os.DirEntry[str]]) -> Iterator[os.DirEntry[str]]:
    for number, entry in enumerate(entries):
        if number % _BETWEEN_BREAKS == 0:
            listing.take_break()
        yield entry


def is_absent(root: Path, path: str) -> bool:
    """Look one file up alone: True only where the folder above it can be read and holds no such name."""
    try:
        os.lstat(root / path)
    except (FileNotFoundError, NotADirectoryError):
        return _can_list((root / path).parent)
    except OSError:
        return False
    return False


def _can_list(folder: Path) -> bool:
    """Say whether a folder, or the nearest one above it that exists, can be listed."""
    try:
        os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return folder != folder.parent and _can_list(folder.parent)
    except OSError:
        return False
    return True
