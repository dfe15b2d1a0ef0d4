"""One private cache folder per service, and what is wrong with any other (provenance.md section 3).

A cache that several services share is overwritten by whichever starts last, and every service then loads files that
nobody chose for it. A folder belongs to a service when a file in it says so; no link leads to it, nobody else may write
to it or to a folder above it.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from inference_dna.canonical import Refused
from inference_dna.measure.reading import reading_errors

VARIABLES = ("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "TRANSFORMERS_CACHE")
"""Where the libraries of Hugging Face keep what they fetch; the later ones override the first for their own part."""

_OWNER_FILE = ".inference-service"
_SERVICE = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]*")
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OWNER_FILE_BYTES = 256


def private_cache(root: Path, service: str) -> dict[str, str]:
    """Make or take the cache folder of one service.

    Args:
        root: The folder that holds the caches of this host's services.
        service: The service's name; of several processes of one service each may ask.

    Returns:
        The environment to set before a library of Hugging Face is imported.

    Raises:
        Refused: The name cannot be one of a folder, the folder cannot be made, or something is wrong with it.
    """
    if not _SERVICE.fullmatch(service):
        raise Refused(f"{service!a} cannot name a cache folder; use letters, digits, `.`, `_` and `-`.")
    folder = root / service
    with reading_errors(f"or making the cache folder {str(folder)!a}"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _claim(folder, service)
    faults = folder_faults(folder, service=service)
    if faults:
        raise Refused(" ".join(faults))
    # The older name still decides for older libraries; both say the same.
    return {"HF_HOME": str(folder), "TRANSFORMERS_CACHE": str(folder / "hub"), "HF_HUB_CACHE": str(folder / "hub")}


def cache_faults(environ: Mapping[str, str], *, service: str | None = None) -> tuple[str, ...]:
    """Say what is wrong with the cache folders that a process uses.

    Args:
        environ: Its environment.
        service: The service that the folders must belong to; None asks only that they belong to one.

    Raises:
        Refused: A folder is there and cannot be looked at.
    """
    named = {name: environ[name] for name in VARIABLES if environ.get(name)}
    if "HF_HOME" not in named and "HF_HUB_CACHE" not in named and "TRANSFORMERS_CACHE" not in named:
        return ("HF_HOME is not set: the cache is the one of this user, shared by all services that run as this user.",)
    return tuple(
        f"{name}: {fault}" for name, folder in named.items() for fault in folder_faults(Path(folder), service=service)
    )


def folder_faults(folder: Path, *, service: str | None = None) -> tuple[str, ...]:
    """Say what is wrong with one cache folder, one sentence each.

    Args:
        folder: The folder, or one inside it such as `hub`.
        service: As in `cache_faults`.

    Raises:
        Refused: The folder is there and cannot be looked at.
    """
    if not folder.is_absolute():
        return (f"The cache folder {str(folder)!a} is not absolute: it depends on where the process was started.",)
    with reading_errors(f"the cache folder {str(folder)!a}"):
        return (*_path_faults(folder), *_owner_faults(folder, service))


def _path_faults(folder: Path) -> Iterator[str]:
    """Look at the folder and at every folder above it: who may rename one of them may replace what is in it."""
    if folder.is_symlink():
        yield f"The cache folder {str(folder)!a} is a link, and whoever owns the link chooses the cache."
    if not folder.exists():
        # It will be made by the first download; until then the folders above it decide.
        yield from _above_faults(folder.parent)
        return
    status = folder.stat()
    if not stat.S_ISDIR(status.st_mode):
        yield f"The cache folder {str(folder)!a} is no folder."
    if status.st_uid not in (0, os.geteuid()):
        yield f"The cache folder {str(folder)!a} belongs to another user (id {status.st_uid})."
    if status.st_mode & _OTHERS_WRITE:
        yield f"The cache folder {str(folder)!a} may be written by others (mode {stat.S_IMODE(status.st_mode):04o})."
    yield from _above_faults(folder.resolve().parent)


def _above_faults(folder: Path) -> Iterator[str]:
    for above in (folder, *folder.parents):
        if not above.exists():
            continue
        mode = above.stat().st_mode
        # In a folder with the sticky bit (such as /tmp) nobody renames what belongs to somebody else.
        if mode & _OTHERS_WRITE and not mode & stat.S_ISVTX:
            yield f"The folder {str(above)!a} above the cache may be written by others (mode {stat.S_IMODE(mode):04o})."


def _owner_faults(folder: Path, service: str | None) -> Iterator[str]:
    owner = next((name for each in (folder, folder.parent) if (name := _owner(each)) is not None), None)
    if owner is None:
        yield f"Nothing says which service the cache folder {str(folder)!a} belongs to: any may share it."
    elif service is not None and owner != service:
        yield f"The cache folder {str(folder)!a} belongs to the service {owner!a}, not to {service!a}."


def _owner(folder: Path) -> str | None:
    try:
        with (folder / _OWNER_FILE).open("rb") as stream:
            return stream.read(_OWNER_FILE_BYTES).decode("utf-8", "replace").strip()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _claim(folder: Path, service: str) -> None:
    """Write whose folder it is, unless that is written already; of two processes at once the first wins."""
    try:
        descriptor = os.open(folder / _OWNER_FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400)
    except FileExistsError:
        return
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(f"{service}\n")
