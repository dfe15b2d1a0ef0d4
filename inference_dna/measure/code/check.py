"""Looks through post-processing code of any form for reads from outside: a file, a folder of sources, an archive.

This is the check before deployment that post-processing is bound to its model (provenance.md section 4): what it finds
is a list of sentences, and an empty list passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from inference_dna.canonical import Refused
from inference_dna.measure.code.reads import Read, find_reads
from inference_dna.measure.code.script import script_reads
from inference_dna.measure.listing import list_folder
from inference_dna.measure.places import is_hidden
from inference_dna.measure.reading import read_content, reading_errors

_SOURCE = ".py"
_ARCHIVES = (".ts", ".pt", ".pth", ".ptl")


def code_reads(path: Path) -> tuple[Read, ...]:
    """Find the places where code reaches outside.

    Args:
        path: A Python file, a folder of them, or a TorchScript archive.

    Raises:
        Refused: There is no code to look through, or some of it cannot be read: nothing can be said of that.
    """
    if path.is_dir():
        return tuple(_of_folder(path))
    if path.suffix == _SOURCE:
        return _of_source(path, path.name)
    if path.suffix in _ARCHIVES:
        return script_reads(path)
    raise Refused(f"{str(path)!a} is no code to look through; give a Python file, a folder or a TorchScript archive.")


def _of_folder(folder: Path) -> Iterator[Read]:
    sources = [found for found in list_folder(folder) if found.name.endswith(_SOURCE) and not is_hidden(found.name)]
    if not sources:
        raise Refused(f"The folder {str(folder)!a} holds no Python files to look through.")
    for found in sources:
        yield from _of_source(found.path, found.name)


def _of_source(path: Path, name: str) -> tuple[Read, ...]:
    with reading_errors(f"the file {name!a}"), path.open("rb") as stream:
        content = read_content(stream, name, keep=True).kept or b""
    return find_reads(content, name)
