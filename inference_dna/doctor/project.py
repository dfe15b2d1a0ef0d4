"""Finds the Python files of a project that run when it serves.

Left out: links (what they lead to inside is found anyway, and loops end nowhere), hidden folders, virtual environments,
packages of others, what was built, and tests. Notebooks and files that are too large are named as skipped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from inference_dna.canonical import Refused

MAX_BYTES = 4 * 1024 * 1024
"""No source that a person wrote is larger."""
_OTHER_FOLDERS = frozenset({
    "__pycache__", "build", "dist", "env", "node_modules", "site-packages", "test", "testing", "tests", "venv",
    "virtualenv",
})  # fmt: skip
_MARK_OF_AN_ENVIRONMENT = "pyvenv.cfg"
_SOURCE, _NOTEBOOK = ".py", ".ipynb"


@dataclass(frozen=True, slots=True)
class Found:
    """One file: its name relative to the project, where it lies, and why it is skipped (empty: it is read)."""

    name: str
    path: Path
    skipped: str = ""


def list_sources(root: Path) -> tuple[Found, ...]:
    """List the files of a project, or the one file that is named.

    Raises:
        Refused: There is no such path, it is no Python file, or the folder holds none.
    """
    if not root.exists():
        raise Refused(f"There is no {str(root)!a}; give a Python file or a project's folder.")
    if not root.is_dir():
        if root.suffix not in (_SOURCE, _NOTEBOOK):
            raise Refused(f"{str(root)!a} is no Python file; give one, or a project's folder.")
        found = [_judged(root.name, root)]
    else:
        found = sorted(_walk(root.resolve(), ""), key=lambda each: each.name)
    if all(each.skipped for each in found):
        raise Refused(f"{str(root)!a} holds no Python files to look through (tests and notebooks do not count).")
    return tuple(found)


def _walk(root: Path, prefix: str) -> Iterator[Found]:
    pending = [(root, prefix)]
    while pending:
        folder, above = pending.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            yield Found(above.rstrip("/") or ".", folder, f"the folder cannot be read: {error.strerror}")
            continue
        if above and any(entry.name == _MARK_OF_AN_ENVIRONMENT for entry in entries):
            continue
        for entry in entries:
            name = above + entry.name
            if entry.is_symlink():
                continue
            if entry.is_dir(follow_symlinks=False):
                if not _is_other(entry.name):
                    pending.append((Path(entry.path), f"{name}/"))
            elif entry.name.endswith((_SOURCE, _NOTEBOOK)) and not _is_test(entry.name):
                yield _judged(name, Path(entry.path))


def _is_other(folder: str) -> bool:
    return folder.startswith(".") or folder in _OTHER_FOLDERS or folder.endswith(".egg-info")


def _is_test(file: str) -> bool:
    return file.startswith("test_") or file.endswith("_test.py") or file == "conftest.py"


def _judged(name: str, path: Path) -> Found:
    if path.suffix == _NOTEBOOK:
        return Found(name, path, "a notebook; export what serves to a Python file")
    try:
        size = path.stat().st_size
    except OSError as error:
        return Found(name, path, f"it cannot be read: {error.strerror}")
    return Found(name, path, f"larger than {MAX_BYTES} bytes" if size > MAX_BYTES else "")
