"""Finds the special tokens in a tokenizer's file, for an engine that encodes and does not list them."""

from __future__ import annotations

from collections.abc import Mapping

from inference_dna.canonical import Refused, parse_json


def special_tokens(content: bytes | None) -> dict[str, int]:
    """Read the special tokens of a `tokenizer.json` with their ids; none without the file.

    Raises:
        Refused: The file is no tokenizer.
    """
    if content is None:
        return {}
    document = parse_json(content)
    added = document.get("added_tokens") if isinstance(document, Mapping) else None
    if not isinstance(added, list):
        raise Refused("The file 'tokenizer.json' lists no added tokens; it is no tokenizer.")
    found = {}
    for token in added:
        match token:
            case {"content": str() as text, "id": int() as number, "special": True}:
                found[text] = number
            case _:  # an ordinary word that was added
                pass
    return found
