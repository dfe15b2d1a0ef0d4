"""Makes objects of foreign classes refuse to be written to: their class is exchanged for one that only reads.

A write is refused at the line that tries it, so that not even the request beside it sees the value. Writes that go
around the class (`vars(model)[...]`, items of a list) are found by comparing. Copies are of the first class again:
whoever wants other values copies the object and changes the copy.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

Refuse = Callable[[str, str], Exception]
"""Is told the path and what was tried; gives what is raised."""


def freeze(objects: Mapping[str, object], refuse: Refuse) -> None:
    """Freeze objects in place, each by its path. An object that is frozen already stays as it is."""
    for path, value in objects.items():
        if not getattr(type(value), "_is_frozen", False):
            value.__class__ = _reading_only(type(value), path, refuse)


def _reading_only(family: type, path: str, refuse: Refuse) -> Any:
    def set_attribute(_self: object, name: str, _value: object) -> None:
        raise refuse(f"{path}.{name}", "was to be set")

    def delete_attribute(_self: object, name: str) -> None:
        raise refuse(f"{path}.{name}", "was to be removed")

    def thawed(self: Any) -> Any:
        fresh: Any = object.__new__(family)
        fresh.__dict__.update(self.__dict__)
        return fresh

    def deeply_thawed(self: Any, memo: dict[int, Any]) -> Any:
        fresh: Any = object.__new__(family)
        memo[id(self)] = fresh
        fresh.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return fresh

    members = {
        "__setattr__": set_attribute, "__delattr__": delete_attribute, "__copy__": thawed,
        "__deepcopy__": deeply_thawed, "_is_frozen": True, "__module__": family.__module__,
        "__qualname__": family.__qualname__, "__doc__": family.__doc__,
    }  # fmt: skip
    return type(family.__name__, (family,), members)
