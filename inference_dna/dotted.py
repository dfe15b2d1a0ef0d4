"""Numbers with dots as drivers and libraries carry them (`12.1`, `8.9.2`, `535.129.03`), and ranges over them.

They are no SemVer: two to four parts, leading zeros. A bound compares only as many parts as it states, so `12.1` means
12.1 and everything below it (12.1.105), `>12.1` begins at 12.2 and `<=12.1` still holds 12.1.105.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from operator import eq, ge, gt, le, lt
from typing import TypeAlias

from inference_dna.shown import shown

Numbers: TypeAlias = tuple[int, ...]

_LONGEST = 100
_STATED = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9}){0,5}")
_BOUND = re.compile(r"(<=|>=|[<>=^~]|)([0-9]{1,9}(?:\.[0-9]{1,9}){0,5})((?:\.[xX*])*)")
_SPACED_OPERATOR = re.compile(r"(<=|>=|[<>=^~]) +")
_COMPARE: dict[str, Callable[[Numbers, Numbers], bool]] = {"": eq, "=": eq, "<": lt, "<=": le, ">": gt, ">=": ge}


@dataclass(frozen=True, slots=True)
class Bound:
    """One comparison over the first parts of a number."""

    compare: Callable[[Numbers, Numbers], bool]
    numbers: Numbers

    def holds(self, stated: Numbers) -> bool:
        """Say whether a number is on the right side; parts it does not state count as 0."""
        length = len(self.numbers)
        return self.compare((stated + (0,) * length)[:length], self.numbers)


@dataclass(frozen=True, slots=True)
class DottedRange:
    """What a requirement allows: one of the alternatives, of which every bound must hold."""

    text: str
    alternatives: tuple[tuple[Bound, ...], ...]

    @classmethod
    def parse(cls, text: str) -> DottedRange:
        """Read `12.1`, `12.x`, `>=12.1 <13`, `^12.1`, `~12.1`, `12.1 - 12.4` or several of these joined by `||`.

        Raises:
            ValueError: The text is anything else.
        """
        if len(text) > _LONGEST or not text.isascii():
            raise ValueError(f"{shown(text)} is no number or range: {_HINT}")
        return cls(text, tuple(_alternative(side.strip(" "), text) for side in text.split("||")))

    def matches(self, stated: str) -> bool:
        """Say whether a stated number is allowed; a text that is no number with dots is not."""
        numbers = parse_numbers(stated)
        return numbers is not None and any(all(b.holds(numbers) for b in bounds) for bounds in self.alternatives)

    @property
    def parts(self) -> int:
        """How many parts the longest bound states; shorter facts cannot answer it."""
        return max(len(bound.numbers) for bounds in self.alternatives for bound in bounds)


_HINT = 'write "12.1" for 12.1.x, or a range like ">=12.1 <13".'


def parse_numbers(text: str) -> Numbers | None:
    """Read a number with dots; None where the text is none."""
    return tuple(map(int, text.split("."))) if _STATED.fullmatch(text) else None


def _alternative(side: str, text: str) -> tuple[Bound, ...]:
    low, hyphen, high = side.partition(" - ")
    words = [">=" + low, "<=" + high] if hyphen else _SPACED_OPERATOR.sub(r"\1", side).split(" ")
    return tuple(bound for word in words if word for bound in _bounds(word, text)) or _bounds("", text)


def _bounds(word: str, text: str) -> tuple[Bound, ...]:
    found = _BOUND.fullmatch(word)
    if found is None:
        raise ValueError(f"{shown(text)} is no number or range: {_HINT}")
    operator, numbers = found[1], tuple(map(int, found[2].split(".")))
    if operator == "^":
        return Bound(ge, numbers), Bound(eq, numbers[:1])
    if operator == "~":
        return Bound(ge, numbers), Bound(eq, numbers[:2])
    return (Bound(_COMPARE[operator], numbers),)
