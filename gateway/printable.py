"""Text that others chose, made fit for a line of a log or a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """Escape what could move the cursor, break the line or cannot be encoded, such as bytes that are not UTF-8."""
    return text if text.isprintable() else ascii(text)[1:-1]
