"""Describes everything that hangs on an object: one short text per place, by its path.

Two descriptions of the same roots differ exactly where something was written meanwhile: an attribute, an item, a
default argument, a variable that a function closed over, the values of a tensor. Nothing is changed or called but
getters of libraries whose objects do not show their inside (`opaque.py`, `arrays.py`).
"""

from __future__ import annotations

import functools
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from pathlib import PurePath
from typing import Any

from worker.isolation.arrays import array_text
from worker.isolation.opaque import is_opaque, memory_text, shown_inside
from worker.isolation.text import State, told

_PLAIN = (type(None), bool, int, float, complex, str, bytes, range, slice, Enum, PurePath)
_LONGEST = 200
_FLATTENED = frozenset({"_modules", "_parameters", "_buffers"})
"""Members in which PyTorch keeps what everybody calls attributes of a module."""
Description = dict[str, str]
Place = tuple[str, object]


def module_globals(modules: Mapping[str, types.ModuleType]) -> dict[str, object]:
    """Name the global variables of modules, without those that Python itself keeps there."""
    return {
        f"{module}.{name}": value
        for module, held in modules.items()
        for name, value in list(vars(held).items())
        if not _is_dunder(name)
    }


def describe(roots: Mapping[str, object], *, own: Callable[[str], bool]) -> Description:
    """Describe what is reachable.

    Args:
        roots: Objects by the names that paths begin with.
        own: Says of a module's name whether its classes are looked into; those of libraries are only counted.
    """
    found: Description = {}
    seen: dict[int, object] = {}
    waiting: deque[Place] = deque(roots.items())
    while waiting:
        path, value = waiting.popleft()
        if isinstance(value, _PLAIN):
            found[path] = _plain_text(value)
            continue
        # The object is kept, so that its id is not given to another one meanwhile.
        if id(value) in seen:
            found[path] = f"{type(value).__name__} that is elsewhere too"
            continue
        seen[id(value)] = value
        text, inside = _look(path, value, own)
        found[path] = text
        waiting.extend(inside)
    return found


def _look(path: str, value: object, own: Callable[[str], bool]) -> tuple[str, Iterable[Place]]:
    """The text of one object and the places inside it."""
    if isinstance(value, type):
        return f"class {value.__qualname__}", _class(path, value) if own(value.__module__) else ()
    for kinds, looked in _LOOKS:
        if isinstance(value, kinds):
            return looked(path, value)
    held = array_text(value) or memory_text(value)
    if held is not None:
        return held, ()
    if hasattr(value, "cache_info"):
        # A library's own cache fills by the way (urlsplit, typing): nobody's answer depends on it.
        if not own(str(getattr(value, "__module__", ""))):
            return "cache", ()
        return f"cache {value.cache_info().currsize}", [(path + "()", getattr(value, "__wrapped__", None))]
    inside = shown_inside(value)
    if inside is not None:
        return type(value).__name__, [(f"{path}.{name}", member) for name, member in inside.items()]
    if is_opaque(value):
        return type(value).__name__, ()
    return told(type(value).__name__, id(value)), _attributes(path, value)


def _mapping(path: str, value: Any) -> tuple[str, Iterable[Place]]:
    items = list(value.items())
    return f"{type(value).__name__} of {len(items)}", [(f"{path}[{_key(key)}]", item) for key, item in items]


def _sequence(path: str, value: Any) -> tuple[str, Iterable[Place]]:
    items = list(value)
    return f"{type(value).__name__} of {len(items)}", [(f"{path}[{place}]", item) for place, item in enumerate(items)]


def _set(_path: str, value: Any) -> tuple[str, Iterable[Place]]:
    items = hash(tuple(sorted(_key(item) for item in list(value))))
    return told(f"{type(value).__name__} of {len(value)}", items), ()


def _method(path: str, value: Any) -> tuple[str, Iterable[Place]]:
    return f"method {value.__name__}", [(f"{path}.__self__", value.__self__), (f"{path}()", value.__func__)]


def _partial(path: str, value: Any) -> tuple[str, Iterable[Place]]:
    return "partial", [(f"{path}.func", value.func), (f"{path}.args", value.args), (f"{path}.kw", value.keywords)]


def _wrapped(path: str, value: Any) -> tuple[str, Iterable[Place]]:
    return type(value).__name__, [(path, value.__func__)]


def _property(path: str, value: Any) -> tuple[str, Iterable[Place]]:
    return "property", [(path, value.fget), (path, value.fset)]


def _function(path: str, value: Any) -> tuple[str, Iterable[Place]]:
    return told(f"function {value.__qualname__}", id(value.__code__)), _of_function(path, value)


_LOOKS: tuple[tuple[Any, Callable[[str, Any], tuple[str, Iterable[Place]]]], ...] = (
    ((dict, types.MappingProxyType), _mapping),
    ((list, tuple, deque), _sequence),
    ((set, frozenset), _set),
    (types.FunctionType, _function),
    (types.MethodType, _method),
    (functools.partial, _partial),
    ((staticmethod, classmethod), _wrapped),
    (property, _property),
)


def _of_function(path: str, function: types.FunctionType) -> Iterator[Place]:
    """Its default arguments, the variables it closed over, and attributes that were set on it."""
    defaults = function.__defaults__ or ()
    arguments = function.__code__.co_varnames[: function.__code__.co_argcount]
    for argument, value in zip(arguments[len(arguments) - len(defaults) :], defaults, strict=True):
        yield f"{path}({argument}=)", value
    for argument, value in (function.__kwdefaults__ or {}).items():
        yield f"{path}({argument}=)", value
    for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield f"{path}({variable} around it)", _content(cell)
    for attribute, value in list(vars(function).items()):
        yield f"{path}.{attribute}", value


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _content(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _class(path: str, described: type) -> Iterator[Place]:
    for name, value in list(vars(described).items()):
        # Python and class makers keep notes of their own under such names; functions among them count.
        if not _is_dunder(name) or isinstance(value, types.FunctionType):
            yield f"{path}.{name}", value


def _attributes(path: str, value: object) -> Iterator[Place]:
    for name, member in list(getattr(value, "__dict__", {}).items()):
        if name in _FLATTENED and isinstance(member, dict):
            yield from ((f"{path}.{key}", each) for key, each in list(member.items()))
        else:
            yield f"{path}.{name}", member
    for family in type(value).__mro__:
        slots = family.__dict__.get("__slots__", ())
        for name in [slots] if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                yield f"{path}.{name}", getattr(value, name)


def _plain_text(value: object) -> str:
    if isinstance(value, State):
        return told("state", str(value))
    # Python hashes a text once; so a long one costs something the first time only.
    if isinstance(value, str | bytes) and len(value) > _LONGEST:
        return told(f"{type(value).__name__} of {len(value)}", hash(value))
    return repr(value)


def _key(key: object) -> str:
    return repr(key) if isinstance(key, _PLAIN) else f"{type(key).__name__} {id(key)}"
