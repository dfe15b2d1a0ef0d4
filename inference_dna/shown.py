"""Writes a value of a document for a person."""

from __future__ import annotations

import json

from inference_dna.canonical import Json

_LONGEST = 60


def shown(value: Json) -> str:
    """Write a value as JSON on one line, cut where it is long."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
