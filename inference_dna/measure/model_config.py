"""Reads `config.json` as far as engines must agree on what it says: a JSON object that names nothing twice.

Of two members of one name some readers take the first and some the last. What the members mean is the engine's
business, so numbers that JSON does not know (`Infinity` stands in real ones) are let through.
"""

from __future__ import annotations

import json
from typing import Any

from inference_dna.canonical import Refused

NAME = "config.json"


def check_config(content: bytes, name: str) -> None:
    """Refuse a configuration that cannot be read, or that two engines may read differently.

    Args:
        content: The whole file.
        name: Its name in the model folder.

    Raises:
        Refused: As said.
    """
    try:
        document = json.loads(content, object_pairs_hook=_once)
    except Refused as refused:
        raise Refused(f"The file {name!a} {refused}") from refused
    except (ValueError, RecursionError) as error:
        raise Refused(f"The file {name!a} is no JSON: {error}.") from error
    if not isinstance(document, dict):
        raise Refused(f"The file {name!a} is no JSON object.")


def _once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(members)
    if len(document) != len(members):
        names = [name for name, _ in members]
        twice = next(name for name in names if names.count(name) > 1)
        raise Refused(f"says {twice!a} twice in one object, and engines differ in which of the two they believe.")
    return document
