"""Documents as `consul kv export` writes and `consul kv import` reads them: keys with values in base64. Pure."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping

from gateway.edits.history import HISTORY_ENDING
from gateway.sources.paths import TOP_FOLDERS

PASSED_OVER = ("/",)
"""How the keys of folder markers end."""


class ExportUnreadable(ValueError):
    """The text is no export; the message says what is wrong."""


def is_export(text: bytes) -> bool:
    """Say whether a text begins as an export does; a document begins with an object, or is YAML."""
    return text.lstrip()[:1] == b"["


def write_export(values: Mapping[str, bytes]) -> str:
    """Write an export, sorted by key, as the program does: tabs, flags 0, a line break at the end."""
    entries = [{"key": key, "flags": 0, "value": base64.b64encode(values[key]).decode()} for key in sorted(values)]
    return json.dumps(entries, indent="\t") + "\n"


def read_export(text: bytes) -> dict[str, bytes]:
    """Read an export; folder markers are left out.

    Raises:
        ExportUnreadable: The text is anything else.
    """
    try:
        entries = json.loads(text)
        values = {entry["key"]: base64.b64decode(entry["value"] or "", validate=True) for entry in entries}
    except (ValueError, TypeError, KeyError, binascii.Error) as error:
        raise ExportUnreadable("this is no output of `consul kv export`: a list of key, flags and value.") from error
    if not all(isinstance(key, str) for key in values):
        raise ExportUnreadable("a key of this export is no text.")
    return {key: value for key, value in values.items() if not key.endswith(PASSED_OVER)}


def document_key(key: str) -> str | None:
    """Cut what stands before `contracts/` or `routes/`, such as `inference/`.

    Returns:
        None where neither is in the key, or it belongs to a history.
    """
    parts = key.split("/")
    for place, part in enumerate(parts[:-1]):
        if part in TOP_FOLDERS:
            return "/".join(parts[place:])
        if part.endswith(HISTORY_ENDING):
            return None
    return None
