"""What differs between two texts of one document, field by field. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal, TypeAlias

from contracts.faults import DocumentRefused, pointer
from contracts.harvest import Plain
from contracts.reading import read
from inference_dna.canonical import Refused, canonical

Kind: TypeAlias = Literal["added", "removed", "changed"]


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that differs. `path` is a JSON pointer; a removed item of a list has its place in the older list."""

    path: str
    kind: Kind
    before: Plain = None
    after: Plain = None


def differences(before: bytes | None, after: bytes | None) -> tuple[Difference, ...]:
    """Compare two texts; None is a document that does not exist.

    Texts that mean the same (other spacing, other comments) do not differ. One that cannot be read is compared as text.
    """
    if before == after:
        return ()
    old, new = _value(before), _value(after)
    if before is None:
        return (Difference("", "added", after=new),)
    if after is None:
        return (Difference("", "removed", before=old),)
    return tuple(_compared("", old, new))


def _value(text: bytes | None) -> Plain:
    if text is None:
        return None
    try:
        return read(text).value
    except DocumentRefused:
        return text.decode("utf-8", "backslashreplace")


def _compared(path: str, old: Plain, new: Plain) -> Iterator[Difference]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys([*old, *new]):
            below = path + pointer([name])
            if name not in new:
                yield Difference(below, "removed", before=old[name])
            elif name not in old:
                yield Difference(below, "added", after=new[name])
            else:
                yield from _compared(below, old[name], new[name])
    elif isinstance(old, list) and isinstance(new, list):
        yield from _lists(path, old, new)
    elif _mark(old) != _mark(new):
        yield Difference(path, "changed", old, new)


def _lists(path: str, old: list[Plain], new: list[Plain]) -> Iterator[Difference]:
    """Pair what is equal, so that one item less does not make all that follow it differ."""
    matcher = SequenceMatcher(None, [_mark(item) for item in old], [_mark(item) for item in new], autojunk=False)
    for what, low, high, new_low, new_high in matcher.get_opcodes():
        if what == "equal":
            continue
        paired = min(high - low, new_high - new_low)
        for step in range(paired):
            yield from _compared(f"{path}/{new_low + step}", old[low + step], new[new_low + step])
        for place in range(low + paired, high):
            yield Difference(f"{path}/{place}", "removed", before=old[place])
        for place in range(new_low + paired, new_high):
            yield Difference(f"{path}/{place}", "added", after=new[place])


def _mark(value: Plain) -> str:
    """Tell values apart as documents do: 5 and 5.0 are one number, 1 and true are two things."""
    number = int(value) if isinstance(value, float) and value.is_integer() else value
    try:
        return canonical(number)
    except Refused:  # beyond what the canonical form holds, such as an integer of 30 digits
        return repr(value)
