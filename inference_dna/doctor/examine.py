"""Looks through a project, file by file: the way through this folder.

    report = examine(Path("my_server"))

A file is parsed once (`module.py`), each rule looks at it (`shared_objects.py`, `shared_memory.py`, `randomness.py`,
`branches.py`), and comments silence single lines (`allowed.py`). Names are followed inside one file; a finding says
that a person must look, not that it is proven.
"""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass
from pathlib import Path

from inference_dna.canonical import Refused
from inference_dna.doctor.allowed import Sifted, allowances, sift
from inference_dna.doctor.branches import branches
from inference_dna.doctor.finding import Finding, Rule
from inference_dna.doctor.module import Module, position
from inference_dna.doctor.project import Found, list_sources
from inference_dna.doctor.randomness import randomness
from inference_dna.doctor.shared_memory import shared_memory
from inference_dna.doctor.shared_objects import shared_objects
from inference_dna.measure.reading import open_regular, reading_errors


@dataclass(frozen=True, slots=True)
class Report:
    """What was looked through and what was found, in the order of files and lines."""

    files: int
    findings: tuple[Finding, ...]
    allowed: tuple[tuple[Finding, str], ...]
    skipped: tuple[Found, ...]


def examine(root: Path) -> Report:
    """Look through a project or one file.

    Raises:
        Refused: There is nothing to look through.
    """
    listed = list_sources(root)
    read = [each for each in listed if not each.skipped]
    sifted = [_examine_file(each) for each in read]
    return Report(
        files=len(read),
        findings=tuple(finding for each in sifted for finding in sorted(each.standing)),
        allowed=tuple(pair for each in sifted for pair in each.allowed),
        skipped=tuple(each for each in listed if each.skipped),
    )


def examine_source(source: bytes, file: str) -> Sifted:
    """Look through the text of one file.

    Args:
        source: Its bytes; their encoding is read as Python itself does (PEP 263).
        file: What to call it.
    """
    try:
        with warnings.catch_warnings():
            # What the interpreter warns of in somebody else's source is not ours to tell.
            warnings.simplefilter("ignore")
            module = Module(ast.parse(source))
            places = [
                *shared_objects(module), *shared_memory(module), *randomness(module), *branches(module, source)
            ]  # fmt: skip
            comments = allowances(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return Sifted((Finding(file, getattr(error, "lineno", None) or 0, Rule.UNREADABLE, _sentence(error)),), ())
    # One line may break one rule twice, as `cache.setdefault(key, []).append(x)` does; it is told once.
    found: dict[tuple[int, Rule], Finding] = {}
    for rule, node, what in places:
        line = position(node)[0]
        found.setdefault((line, rule), Finding(file, line, rule, what))
    return sift(found.values(), comments, file)


def _examine_file(found: Found) -> Sifted:
    try:
        with reading_errors("the file"), open_regular(found.path, found.name) as stream:
            source = stream.read()
    except Refused as refused:
        return Sifted((Finding(found.name, 0, Rule.UNREADABLE, str(refused)),), ())
    return examine_source(source, found.name)


def _sentence(error: Exception) -> str:
    if isinstance(error, SyntaxError):
        return f"it is no Python: {error.msg}"
    if isinstance(error, RecursionError | MemoryError):
        return "it nests too deeply to be read"
    return f"it is no Python: {error}"
