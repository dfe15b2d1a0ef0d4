"""Looks through the code inside a TorchScript archive for reads from outside (provenance.md section 4).

The archive is read, never loaded: neither its code nor its pickles are run. TorchScript is written in Python's grammar
and has no imports, so every module is known by its own name.
"""

from __future__ import annotations

import ast
import pickletools
from collections.abc import Iterator
from pathlib import Path

from inference_dna.canonical import Refused
from inference_dna.measure.code.reads import MODULES, Read, find_reads, read_of_path
from inference_dna.measure.reading import open_regular, reading_errors
from inference_dna.measure.zip_directory import read_directory, read_member

_OWN_OPERATORS = frozenset({
    "_quantized", "aten", "mkldnn", "mkldnn_prepacked", "prepacked", "prim", "prims", "quantized",
    "quantized_decomposed", "sparse",
})  # fmt: skip
"""Operators of PyTorch itself; those of any other library may do whatever they like."""
_UNSEEN_OPERATOR = "calls an operator that this check cannot see into"
_UNSEEN_PICKLE = "is a pickle that this check cannot read"
_UNSEEN_CALL = "is a pickle that runs what this check cannot see"
_KNOWN_GLOBALS = (("torch._utils", "_rebuild_"), ("torch.jit._pickle", ""), ("collections", "OrderedDict"))
_HARMLESS_BUILTINS = {"dict", "list", "tuple", "set", "int", "float", "bool", "str", "bytes", "complex", "slice"}


def script_reads(archive: Path) -> tuple[Read, ...]:
    """Find the places in an archive where its code or its pickles reach outside, in the order of the archive.

    Raises:
        Refused: The archive cannot be read, is no ZIP archive, holds no code, or holds code that is no Python.
    """
    found: list[Read] = []
    with reading_errors(f"the file {archive.name!a}"), open_regular(archive, archive.name) as stream:
        members = read_directory(stream, archive.name, archive.stat().st_size)
        sources = [member for member in members if member.name.endswith(".py")]
        if not sources:
            raise Refused(f"The archive {archive.name!a} holds no code to look through.")
        for member in (*sources, *(each for each in members if each.name.endswith(".pkl"))):
            # Everything lies below one folder, named after the file that was first saved.
            name = member.name.partition("/")[2]
            content = read_member(stream, archive.name, member)
            found += _of_source(content, name) if name.endswith(".py") else _of_pickle(content, name)
    return tuple(found)


def _of_source(content: bytes, name: str) -> Iterator[Read]:
    yield from find_reads(content, name, known=MODULES)
    for node in ast.walk(ast.parse(content)):
        match node:
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="ops"), attr=library)):
                if library not in _OWN_OPERATORS:
                    yield Read(name, node.lineno, f"{_UNSEEN_OPERATOR}: {library}.{node.attr}")
            case _:
                pass


def _of_pickle(content: bytes, name: str) -> Iterator[Read]:
    texts: list[str] = []
    try:
        for operation, argument, _ in pickletools.genops(content):
            if isinstance(argument, str):
                texts.append(argument)
            if operation.name == "GLOBAL":
                module, _, attribute = str(argument).partition(" ")
                yield from _of_global(module, attribute, name)
            elif operation.name == "STACK_GLOBAL":
                # Module and name lie on the stack: the last two texts, unless the pickle plays tricks with its memo.
                module, attribute = ["", "", *texts][-2:]
                yield from _of_global(module, attribute, name)
    except ValueError:
        yield Read(name, 0, _UNSEEN_PICKLE)


def _of_global(module: str, attribute: str, name: str) -> Iterator[Read]:
    """A pickle names what it will call. What PyTorch's own archives name is known; anything else is told."""
    if not _is_known_global(module, attribute):
        yield Read(name, 0, f"{_UNSEEN_CALL}: {module}.{attribute}")


def _is_known_global(module: str, attribute: str) -> bool:
    if module in ("builtins", "__builtin__"):
        return attribute in _HARMLESS_BUILTINS
    if module == "torch":
        return read_of_path(f"torch.{attribute}") is None
    return module.startswith("__torch__") or any(
        module == known and attribute.startswith(prefix) for known, prefix in _KNOWN_GLOBALS
    )
