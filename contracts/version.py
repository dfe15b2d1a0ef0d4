"""A version by SemVer 2.0.0, read strictly (routing.md section 2)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from contracts.faults import quoted

Precedence: TypeAlias = tuple[int, int, int, tuple[tuple[int, int, str], ...]]

LONGEST = 256
"""Characters. Longer text is refused before a pattern sees it."""

_NUMBER = r"0|[1-9][0-9]*"
_WORD = rf"(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_BUILD_WORD = r"[0-9A-Za-z-]+"
_VERSION = re.compile(
    rf"v?({_NUMBER})\.({_NUMBER})\.({_NUMBER})"
    rf"(?:-({_WORD}(?:\.{_WORD})*))?"
    rf"(?:\+({_BUILD_WORD}(?:\.{_BUILD_WORD})*))?"
)
_TOO_FEW = re.compile(r"v?[0-9]+(?:\.[0-9]+)?")
_LEADING_ZERO = re.compile(r"(?:v?|[^+]*[.-])0[0-9]+(?:[.+-].*)?")

# A release stands above all its pre-releases: no word of a pre-release begins with a 2.
_RELEASE = ((2, 0, ""),)


class VersionError(ValueError):
    """The text is no version; the message says what to write instead."""


@dataclass(frozen=True, slots=True)
class Version:
    """One version. Equal means equal in every part, build metadata too; only `precedence` leaves the build out."""

    major: int
    minor: int
    patch: int
    prerelease: tuple[str, ...] = ()
    build: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Version:
        """Read a version; one leading `v` is optional.

        Raises:
            VersionError: The text is anything but three numbers with optional pre-release and build metadata.
        """
        found = _VERSION.fullmatch(text) if len(text) <= LONGEST else None
        if found is None:
            raise VersionError(f"{quoted(text)} is no version: {_explain(text)}")
        major, minor, patch, prerelease, build = found.groups()
        return cls(int(major), int(minor), int(patch), _words(prerelease), _words(build))

    def __str__(self) -> str:
        prerelease = "-" + ".".join(self.prerelease) if self.prerelease else ""
        build = "+" + ".".join(self.build) if self.build else ""
        return f"v{self.major}.{self.minor}.{self.patch}{prerelease}{build}"

    @property
    def precedence(self) -> Precedence:
        """A key that sorts by SemVer's precedence; two builds of one version have the same key."""
        words = tuple(map(_rank, self.prerelease)) if self.prerelease else _RELEASE
        return (self.major, self.minor, self.patch, words)


def _words(text: str | None) -> tuple[str, ...]:
    return tuple(text.split(".")) if text else ()


def _rank(word: str) -> tuple[int, int, str]:
    """Numbers by value and below words, words by letter (SemVer 11.4)."""
    return (0, int(word), "") if word.isdigit() else (1, 0, word)


def _explain(text: str) -> str:
    if len(text) > LONGEST:
        return f"it is longer than {LONGEST} characters."
    if _TOO_FEW.fullmatch(text):
        return "three numbers are needed, like v1.2.0."
    if _LEADING_ZERO.fullmatch(text):
        return "a number must not begin with 0."
    return "write three numbers with dots, like v1.2.0, v1.2.0-rc.1 or v1.2.0+build.7."
