"""Reads a version (SemVer 2.0) and writes it as it is always printed, with `v`."""

from __future__ import annotations

import re

_NUMBER = r"(?:0|[1-9]\d*)"
_IDENTIFIER = rf"(?:{_NUMBER}|\d*[A-Za-z-][0-9A-Za-z-]*)"
# Semantic Versioning 2.0, one leading `v` allowed.
_VERSION = re.compile(
    rf"v?{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-{_IDENTIFIER}(?:\.{_IDENTIFIER})*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?",
    re.ASCII,
)


def read_version(text: str) -> str | None:
    """Give a version with its `v`; None where the text is no SemVer version."""
    return f"v{text.removeprefix('v')}" if _VERSION.fullmatch(text) else None
