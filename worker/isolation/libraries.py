"""Remembers what the code of libraries was when the worker became ready: a function that a request exchanged is found.

Looked at are the modules that hold the classes of what a request can reach, and those whose functions they and our own
modules call. There a name must stay bound to the function or class it had; a class of a reachable object also keeps its
values and gains none. New names in a module are not counted: libraries import their parts when they first need them.
"""

from __future__ import annotations

import operator
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain

_CODE = (types.FunctionType, types.BuiltinFunctionType, type, staticmethod, classmethod, property)
_IMMUTABLE = 1 << 8
"""Py_TPFLAGS_IMMUTABLETYPE: a class written in C, to which nobody can write."""
_MOST_ITEMS = 256
_HOOKS = frozenset({"sys", "warnings"})
"""Modules in which whoever prints an error or collects warnings binds names for a while."""
_GONE = object()


class Libraries:
    """What was bound to the names of libraries.

    Args:
        objects: What a request can reach.
        modules: Our own modules; they themselves are not looked at.
        own: Says of a module's name whether it is ours.
    """

    def __init__(
        self, objects: Iterable[object], modules: Iterable[types.ModuleType], *, own: Callable[[str], bool]
    ) -> None:
        kinds = {type(value) for value in objects if not own(type(value).__module__)}
        roots = {sys.modules[kind.__module__] for kind in kinds if kind.__module__ in sys.modules}
        looked = {module for module in roots | _called(chain(roots, modules)) if not own(module.__name__)}
        looked = {module for module in looked if module.__name__ not in _HOOKS}
        # What a root holds is called by its functions: a registry of attention functions, for one.
        kinds |= {type(value) for root in roots for value in list(vars(root).values()) if not isinstance(value, _CODE)}
        families = {family for kind in kinds for family in kind.__mro__ if not own(family.__module__)}
        packages = {_package(family.__module__) for family in families}
        others = _classes(module for module in looked if _package(module.__name__) in packages)
        self._namespaces = (
            *(_Namespace(module.__name__, vars(module), fresh=()) for module in looked),
            *(_Namespace(_name(each), vars(each), fresh=_CODE) for each in others - families if _may_change(each)),
            *(_Namespace(_name(each), vars(each), fresh=(object,)) for each in families if _may_change(each)),
            *chain.from_iterable(map(_registries, roots)),
        )

    def change(self) -> tuple[str, str] | None:
        """Name what was exchanged since, and how; None where nothing was."""
        return next((change for each in self._namespaces if (change := each.change()) is not None), None)


class _Namespace:
    """The names of a module, a class or a registry.

    Args:
        path: What it is called.
        held: What is bound to its names.
        fresh: What may not appear under a new name. Where that is anything, old values count as functions do.
    """

    def __init__(self, path: str, held: Mapping[str, object], *, fresh: tuple[type, ...]) -> None:
        self._path, self._held, self._fresh = path, held, fresh
        self._bound = {name: value for name, value in list(held.items()) if _counts(name, value, object in fresh)}
        self._inside = {name: inside for name, value in self._bound.items() if (inside := _inside(value)) is not None}

    def change(self) -> tuple[str, str] | None:
        """The first name that is bound otherwise, and how."""
        held = self._held
        for name, value in self._bound.items():
            if held.get(name, _GONE) is not value:
                return f"{self._path}.{name}", "was replaced"
        for name, inside in self._inside.items():
            if not _is_same(inside, _inside(self._bound[name])):
                return f"{self._path}.{name}", "was changed inside"
        fresh = (name for name in list(held) if name not in self._bound and not _is_dunder(name))
        appeared = next((name for name in fresh if self._fresh and isinstance(held.get(name), self._fresh)), None)
        return None if appeared is None else (f"{self._path}.{appeared}", "appeared")


def _called(modules: Iterable[types.ModuleType]) -> set[types.ModuleType]:
    """The modules that modules import, and those whose functions and classes they do."""
    values = [value for module in modules for value in list(vars(module).values())]
    homes = {vars(value).get("__module__") for value in values if isinstance(value, types.FunctionType | type)}
    imported = {value for value in values if type(value) is types.ModuleType}
    return imported | {sys.modules[home] for home in homes if isinstance(home, str) and home in sys.modules}


def _classes(modules: Iterable[types.ModuleType]) -> set[type]:
    """The classes that are at home in modules."""
    homes = ((module.__name__, value) for module in modules for value in list(vars(module).values()))
    return {value for home, value in homes if type(value) is type and value.__module__ == home} | _tensors()


def _registries(module: types.ModuleType) -> Iterator[_Namespace]:
    """Objects in which a module looks up functions by name, such as those of attention."""
    for name, value in list(vars(module).items()):
        if isinstance(value, Mapping) and not isinstance(value, dict):
            for member, held in vars(value).items():
                if isinstance(held, dict):
                    yield _Namespace(f"{module.__name__}.{name}.{member}", held, fresh=(object,))


def _tensors() -> set[type]:
    torch = sys.modules.get("torch")
    return set() if torch is None else {torch.Tensor}


def _counts(name: str, value: object, all_count: bool) -> bool:
    return isinstance(value, _CODE) or (all_count and not _is_dunder(name))


def _inside(value: object) -> tuple[object, ...] | None:
    """What could be exchanged without binding the name anew; None where that is nothing."""
    if isinstance(value, types.FunctionType):
        return value.__code__, value.__defaults__, value.__kwdefaults__
    if isinstance(value, dict) and len(value) <= _MOST_ITEMS:
        return tuple(dict.values(value))
    if isinstance(value, list) and len(value) <= _MOST_ITEMS:
        return tuple(value)
    return None


def _is_same(inside: tuple[object, ...], other: tuple[object, ...] | None) -> bool:
    return other is not None and len(inside) == len(other) and all(map(operator.is_, inside, other))


def _may_change(family: type) -> bool:
    return not family.__flags__ & _IMMUTABLE


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _package(module: str) -> str:
    return module.partition(".")[0]


def _name(family: type) -> str:
    return f"{family.__module__}.{family.__qualname__}"
