"""Writes values and names from documents for a person: one line each, whatever they hold."""

from __future__ import annotations

import json

from inference_dna.canonical import Json

_LONGEST = 60


def shown(value: Json) -> str:
    """Write a value as JSON on one line, cut where it is long."""
    text = printable(json.dumps(value, ensure_ascii=False, sort_keys=True))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def printable(text: str) -> str:
    """Escape what would move a terminal or not be seen: a file's name must not be able to write a line of its own."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in text)
