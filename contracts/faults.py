"""What is wrong with a document: where, and a sentence that a person can act on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, TypeAlias

Severity: TypeAlias = Literal["error", "warning"]

_LONGEST_QUOTE = 60
_LONGEST_GUESS = 64


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. `path` is a JSON pointer (RFC 6901) such as `/instances/0`; empty means the whole document."""

    path: str
    message: str
    severity: Severity = "error"

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class DocumentRefused(Exception):
    """A document that is not used, with every fault found in it."""

    def __init__(self, faults: Sequence[Fault], name: str = "") -> None:
        self.faults = tuple(faults)
        self.name = name
        super().__init__("\n".join(f"{name}: {fault}" if name else str(fault) for fault in self.faults))


class Misfit(ValueError):
    """One value with several faults; their paths begin at that value."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(map(str, self.faults)))


def pointer(steps: Iterable[str | int]) -> str:
    """Write a JSON pointer."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def quoted(value: object) -> str:
    """Show a value of a document as JSON on one line, cut where it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + "…"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Write ` Did you mean "x"?`, or nothing where no known word is close."""
    # Comparing takes the product of the lengths; nobody mistypes a name of thousands of letters.
    close = get_close_matches(word, list(known), n=1) if len(word) <= _LONGEST_GUESS else []
    return f" Did you mean {quoted(close[0])}?" if close else ""


def listed(words: Iterable[str]) -> str:
    """Write words as `a, b or c`."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last
