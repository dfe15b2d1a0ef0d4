"""Which ranges tell apart what clients can ask for by range, where the versions are known: pure.

Where these versions are all there are, a range is what it matches of them: `^1`, `1.x` and `>=1.0.0 <2` are one
question as long as they match the same.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

from contracts.selector import Range, parse_selector
from contracts.version import LONGEST, Version

MOST_VERSIONS = 100
"""Versions that ranges are made from: the work grows with their number times that of all versions."""

_FORMS = ("^{major}", "*", "^{major}.{minor}", "~{major}.{minor}", "^{number}", "~{number}", ">={number}", "<={number}")
"""As clients write them (routing.md section 2), the plainest first. Which version answers depends on where a range
ends, and `<=` ends at each of them; whether any does depends on where it begins, too."""


def telling_ranges(versions: Collection[Version], *, first: Collection[Version] = ()) -> tuple[str, ...]:
    """List the plainest range for each choice among these versions that the forms of ranges make.

    Args:
        versions: All there are.
        first: Those among them to begin with, where there are more than `MOST_VERSIONS`.
    """
    by_choice: dict[frozenset[Version], str] = {}
    sources = sorted(versions, key=lambda version: (version in first, version.precedence), reverse=True)
    for form in _FORMS:
        for text in dict.fromkeys(_written(form, version) for version in sources[:MOST_VERSIONS]):
            matched = _matched(text, versions) if len(text) <= LONGEST else frozenset()
            if matched:
                by_choice.setdefault(matched, text)
    return tuple(by_choice.values())


def _written(form: str, version: Version) -> str:
    number = str(Version(version.major, version.minor, version.patch, version.prerelease)).removeprefix("v")
    return form.format(major=version.major, minor=version.minor, number=number)


def _matched(text: str, versions: Collection[Version]) -> frozenset[Version]:
    selector = cast(Range, parse_selector(text))  # no form is a whole version or a word
    return frozenset(version for version in versions if selector.matches(version))
