"""The source of running code, and the values it works with (provenance.md section 4: the class name proves nothing).

Own code is taken by its whole module, since what it calls stands beside it. Installed code is taken by its class or
function alone: its package is in the framework section already, and an update there must not look like other
post-processing. A part of one's own that lies in a further module is named to the measurement by itself.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
import sysconfig
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inference_dna.canonical import Json, Refused
from inference_dna.measure.code.plain import plain
from inference_dna.measure.reading import reading_errors

_NOT_STATE = ("__", "_abc_")


@dataclass(frozen=True, slots=True)
class Source:
    """Code as text: its name, where it stands, what is hashed, and the values it works with.

    `place` is the last component of the file where the text is a whole one, else the name of the part that it is.
    `known` are the names that the text uses without importing them, each with the dotted path that it stands for.
    """

    name: str
    place: str
    text: bytes
    values: Json
    known: Mapping[str, str]


def read_source(code: Any) -> Source:
    """Read the source of a function, a method, a class, an instance or a partial of one of these.

    Raises:
        Refused: It has no source, because it was made at run time or is compiled: then nothing tells what it does.
    """
    target = _unwrapped(code)
    defined = target if inspect.isclass(target) or inspect.isfunction(target) else type(target)
    file = _file(defined)
    place = _name(defined) if _is_installed(file) else Path(file).name
    return Source(_name(defined), place, _text(defined), plain(_values(code, target)), _known(defined, file))


def _unwrapped(code: Any) -> Any:
    """What stands behind partials and bound methods."""
    while isinstance(code, functools.partial):
        code = code.func
    if inspect.ismethod(code):
        return code.__self__
    return code


def _name(defined: Any) -> str:
    return f"{defined.__module__}.{defined.__qualname__}"


def _file(defined: Any) -> str:
    try:
        found = inspect.getsourcefile(defined)
    except TypeError:
        found = None
    if found is None or not Path(found).is_file():
        raise Refused(f"The code of {_name(defined)} has no source; put it into a file.")
    return found


def _text(defined: Any) -> bytes:
    file = _file(defined)
    if not _is_installed(file):
        with reading_errors(f"the file {Path(file).name!a}"):
            return Path(file).read_bytes()
    lineage = [each for each in inspect.getmro(defined) if _has_source(each)] if inspect.isclass(defined) else [defined]
    return "\n".join([_lines(each) for each in lineage]).encode()


def _known(defined: Any, file: str) -> dict[str, str]:
    """What a part of an installed module finds in its module: the part is read alone, without the imports above it."""
    if not _is_installed(file):
        return {}
    held = vars(sys.modules[defined.__module__])
    paths = {name: _path(value) for name, value in held.items()}
    return {name: path for name, path in paths.items() if path is not None and name != defined.__name__}


def _path(value: Any) -> str | None:
    if value is os.environ:
        return "os.environ"
    if inspect.ismodule(value):
        return value.__name__
    if inspect.isroutine(value) and getattr(value, "__module__", None):
        return f"{value.__module__}.{value.__name__}"
    return None


def _lines(defined: Any) -> str:
    try:
        return textwrap.dedent(inspect.getsource(defined))
    except (OSError, TypeError) as error:
        raise Refused(f"The source of {_name(defined)} cannot be found in its file: {error}.") from error


def _has_source(defined: type) -> bool:
    """Whether it is worth a look: `object`, `ABC` and other built-in classes are the interpreter's."""
    return defined.__module__ not in ("builtins", "abc", "typing", "collections.abc")


def _is_installed(file: str) -> bool:
    resolved = Path(file).resolve()
    homes = {Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib", "stdlib")}
    return any(resolved.is_relative_to(home) for home in homes)


def _values(code: Any, target: Any) -> dict[str, Any]:
    """What the code works with beside its arguments: its own attributes, what it closes over, what its module holds."""
    values: dict[str, Any] = {}
    if isinstance(code, functools.partial):
        values["arguments"] = {"positional": list(code.args), "named": code.keywords}
    if inspect.ismethod(code):
        values["method"] = code.__name__
    if not inspect.isclass(target) and not inspect.isfunction(target):
        values["attributes"] = _attributes(target)
    for function in _functions(target):
        outside = inspect.getclosurevars(function)
        values |= _worth_telling("closure", outside.nonlocals, values)
        # What an installed module holds came with its package, and most of it is machinery.
        if not _is_installed(function.__code__.co_filename):
            values |= _worth_telling("module", outside.globals, values)
    return values


def _attributes(instance: Any) -> dict[str, Any]:
    held = getattr(instance, "__dict__", {})
    return {
        name: held[name] for name in sorted(held) if not name.startswith(_NOT_STATE) and not _is_machinery(held[name])
    }


def _functions(target: Any) -> Iterator[Any]:
    if inspect.isfunction(target):
        yield target
        return
    defined = target if inspect.isclass(target) else type(target)
    for each in inspect.getmro(defined):
        yield from (member for member in vars(each).values() if inspect.isfunction(member))


def _worth_telling(role: str, held: Any, values: dict[str, Any]) -> dict[str, Any]:
    """Values only: modules, functions and classes are code, and code is taken by its source."""
    kept = {name: value for name, value in held.items() if not _is_code(value)}
    return {role: {**values.get(role, {}), **kept}} if kept else {}


def _is_code(value: Any) -> bool:
    return inspect.ismodule(value) or inspect.isclass(value) or inspect.isroutine(value) or _is_machinery(value)


def _is_machinery(value: Any) -> bool:
    """A logger or a lock says nothing of an answer, and holds half the process."""
    return type(value).__module__.partition(".")[0] in ("logging", "_thread", "threading")
