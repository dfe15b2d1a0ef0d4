"""What the readers of documents share: plain values, and every fault met on the way."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import TypeAlias

from contracts.faults import DocumentRefused, Fault, pointer, quoted

Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"

MAX_DEPTH = 64
"""Levels of lists and objects; no document of ours needs ten, a JSON Schema may need some more."""

_LONGEST_NUMBER = 64
_INTEGER = re.compile(r"[+-]?[0-9]+")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


class Harvest:
    """Collects faults and the spelling of numbers while one document is read.

    `spellings` maps the pointer of each number, true, false and null to its text, because `2.40` read as a number is
    `2.4`, and a message should show what was typed.
    """

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.spellings: dict[str, str] = {}

    def fault(self, path: str, message: str) -> None:
        """Keep one fault."""
        self.faults.append(Fault(path, message))

    def enter(self, depth: int) -> int:
        """Go one level down.

        Raises:
            DocumentRefused: That is deeper than any document may nest; reading on could exhaust the stack.
        """
        if depth >= MAX_DEPTH:
            raise DocumentRefused([*self.faults, Fault("", f"the document nests deeper than {MAX_DEPTH} levels.")])
        return depth + 1

    def number(self, text: str, path: str) -> int | float:
        """Read a number and keep its spelling; NaN, an infinity or an endless one is a fault."""
        if len(text) <= _LONGEST_NUMBER:
            self.spellings[path] = text
            value = float(text)
            if math.isfinite(value):
                return int(text) if _INTEGER.fullmatch(text) else value
        self.fault(path, f"{text[:_LONGEST_NUMBER]} is not a number that a document may hold.")
        return 0

    def text(self, value: str, path: str) -> str:
        """Pass a text on; half a character is a fault."""
        if _SURROGATE.search(value):
            self.fault(path, "holds half of a surrogate pair; write the character itself.")
            return ""
        return value

    def members(self, pairs: Iterable[tuple[str, Plain]], path: str) -> dict[str, Plain]:
        """Build an object; a name that stands twice is a fault, whichever value was meant."""
        built: dict[str, Plain] = {}
        for name, value in pairs:
            if name in built:
                self.fault(path + pointer([name]), f"{quoted(name)} is given twice; remove one of the two.")
            built[name] = value
        return built
