"""What a client or a route asks for: an exact version, a range or an alias (routing.md section 2).

semantic-version's `NpmSpec` knows the grammar of ranges and what `^`, `~`, `x` and partial numbers stand for. It is
asked one number at a time, without pre-release and build, and only for the bounds; comparing is done here, because the
library's own answer is wrong where pre-releases meet: `<2.0.0` takes `2.0.0-0`, `<=1.4.0-rc.2` takes `1.4.0`,
`~1.2.0-rc.1` takes nothing at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from operator import eq, ge, gt, le, lt
from typing import TypeAlias

from semantic_version import NpmSpec

from contracts.faults import quoted
from contracts.version import LONGEST, Precedence, Version, VersionError

CACHED_SELECTORS = 4096
"""Texts of requests whose parsed form is kept; clients repeat a few, an attacker's many push one another out."""

_PRINTABLE = re.compile(r"[\x20-\x7e]*")
_EXACT = re.compile(r"(?:= *)?(v?[0-9]+\.[0-9]+\.[0-9]+(?:[-+][0-9A-Za-z.+-]*)?)")
_ALIAS = re.compile(r"(?!v[0-9])(?![xX](?:\.|$))[A-Za-z][A-Za-z0-9._-]*")
_SPACED_OPERATOR = re.compile(r"(<=|>=|~>|[<>=^~]) +")
_BLOCK = re.compile(r"(<=|>=|~>|[<>=^~]|)v?([0-9xX*]+(?:\.[0-9xX*]+){0,2})((?:[-+][0-9A-Za-z.+-]*)?)")
_COMPARE: dict[str, Callable[[Precedence, Precedence], bool]] = {"==": eq, "<": lt, "<=": le, ">": gt, ">=": ge}


class SelectorError(ValueError):
    """The text is no selector; the message says what to write instead."""


@dataclass(frozen=True, slots=True)
class Exact:
    """One version and no other: equal in every part, build metadata too."""

    text: str = field(compare=False)
    version: Version


@dataclass(frozen=True, slots=True)
class Comparator:
    """One bound of a range. `build` is set only where a range names one build exactly."""

    compare: Callable[[Precedence, Precedence], bool]
    bound: Precedence
    build: tuple[str, ...] | None = None

    def matches(self, version: Version, precedence: Precedence) -> bool:
        """Say whether the version is on the right side of the bound."""
        return self.compare(precedence, self.bound) and (self.build is None or self.build == version.build)


@dataclass(frozen=True, slots=True)
class Alternative:
    """One side of `||`: every comparator must hold.

    `prereleases` are the (major, minor, patch) of the numbers that carry a pre-release: only pre-releases of these
    may match.
    """

    comparators: tuple[Comparator, ...]
    prereleases: frozenset[tuple[int, int, int]]

    def matches(self, version: Version, precedence: Precedence) -> bool:
        """Say whether the version fits this side."""
        if version.prerelease and precedence[:3] not in self.prereleases:
            return False
        return all(comparator.matches(version, precedence) for comparator in self.comparators)


@dataclass(frozen=True, slots=True)
class Range:
    """A set of versions in npm's grammar; build metadata plays no part."""

    text: str = field(compare=False)
    alternatives: tuple[Alternative, ...]

    def matches(self, version: Version) -> bool:
        """Say whether the version is in the range; pre-releases as routing.md section 2 says."""
        precedence = version.precedence
        return any(alternative.matches(version, precedence) for alternative in self.alternatives)


@dataclass(frozen=True, slots=True)
class Alias:
    """A word that means something only where a route defines it."""

    text: str
    name: str


Selector: TypeAlias = Exact | Range | Alias


def parse_selector(text: str) -> Selector:
    """Read a selector.

    Raises:
        SelectorError: The text is empty, too long, not plain ASCII, or neither version nor range nor word.
    """
    plain = _plain(text)
    if exact := _EXACT.fullmatch(plain):
        return Exact(text, _version(exact[1], text))
    if _ALIAS.fullmatch(plain):
        return Alias(text, plain)
    return Range(text, tuple(_alternative(side, text) for side in plain.split("||")))


@lru_cache(maxsize=CACHED_SELECTORS)
def cached_selector(text: str) -> Selector:
    """Read a selector of a request; texts seen lately are not read again.

    Raises:
        SelectorError: As `parse_selector`.
    """
    return parse_selector(text)


def _plain(text: str) -> str:
    if len(text) > LONGEST:
        raise SelectorError(f"The selector is longer than {LONGEST} characters.")
    if not _PRINTABLE.fullmatch(text):
        raise SelectorError("The selector holds characters other than printable ASCII.")
    if not (plain := text.strip(" ")):
        raise SelectorError("The selector is empty; name a version such as v2.4.0, a range such as ^2.4, or nothing.")
    return plain


def _alternative(side: str, text: str) -> Alternative:
    blocks = list(_blocks(side, text))
    numbers = [number for _, number in blocks if number]
    return Alternative(
        tuple(comparator for comparators, _ in blocks for comparator in comparators),
        frozenset((number.major, number.minor, number.patch) for number in numbers if number.prerelease),
    )


def _blocks(side: str, text: str) -> Iterator[tuple[list[Comparator], Version | None]]:
    """Yield each block of one side as its comparators and, where it is written in full, its number."""
    low, hyphen, high = side.strip(" ").partition(" - ")
    if hyphen:
        yield _block(">=" + low.strip(" "), text)
        yield _block("<=" + high.strip(" "), text)
        return
    words = _SPACED_OPERATOR.sub(r"\1", low).split(" ")
    for block in [word for word in words if word] or [""]:
        yield _block(block, text)


def _block(block: str, text: str) -> tuple[list[Comparator], Version | None]:
    found = _BLOCK.fullmatch(block)
    if found is None:
        raise _malformed(text)
    operator, core, suffix = found.groups()
    operator = "~" if operator == "~>" else operator
    number = _version(core + suffix, text) if suffix or _EXACT.fullmatch(core) else None
    return [_comparator(bound, operator, number) for bound in _bounds(operator + core, text)], number


def _bounds(block: str, text: str) -> list[tuple[str, tuple[int, int, int]]]:
    """Ask the library what a block without pre-release stands for, as operators and numbers."""
    try:
        clauses = NpmSpec(block).clause.clauses
    except ValueError as error:
        raise _malformed(text) from error
    return sorted((c.operator, (c.target.major, c.target.minor, c.target.patch)) for c in clauses)


def _comparator(bound: tuple[str, tuple[int, int, int]], operator: str, number: Version | None) -> Comparator:
    relation, core = bound
    if number and core == (number.major, number.minor, number.patch):
        build = number.build if operator in ("", "=") and number.build else None
        return Comparator(_COMPARE[relation], number.precedence, build)
    # An upper bound that nobody wrote shuts out the pre-releases of its number too: `^1.2.3` ends below v2.0.0-0.
    lowest = Version(*core, prerelease=("0",)) if relation == "<" else Version(*core)
    return Comparator(_COMPARE[relation], lowest.precedence)


def _version(text: str, selector: str) -> Version:
    try:
        return Version.parse(text)
    except VersionError as error:
        raise SelectorError(f"The selector {quoted(selector)} is malformed: {error}") from error


def _malformed(text: str) -> SelectorError:
    return SelectorError(
        f"The selector {quoted(text)} is neither a version such as v2.4.0, nor a range such as ^2.4, nor a word."
    )
