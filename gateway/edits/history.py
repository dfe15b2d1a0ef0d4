"""The history of one document: every text it had, who wrote it, when and why. Pure.

An entry lies beside the documents, not below them: `inference-history/contracts/<model_id>/<version>/00000007`.
Gateways watch `inference/` and neither read these keys nor need a right to.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

KEPT = 20
"""Entries of one document that are kept by default."""

HISTORY_ENDING = "-history"
"""What is appended to the prefix of documents for the prefix of their history."""

_NUMBER_DIGITS = 8
_PLAIN_BYTES = 64 * 1024
"""A longer text is kept compressed: it travels in one transaction with the document itself, of 512 KiB at most."""

OUTSIDE = "(not by dna)"
"""The author of what is found and no entry tells: an edit or deletion in Consul's own page, or `consul kv put`."""


class EntryUnreadable(ValueError):
    """A value of the history that is none of ours; the message says why."""


@dataclass(frozen=True, slots=True)
class Note:
    """Who changes documents, when (RFC 3339 in UTC), and why; and how many entries of each are kept."""

    author: str
    at: str
    reason: str = ""
    kept: int = KEPT


@dataclass(frozen=True, slots=True)
class Entry:
    """One text a document had, or with `text` None its deletion."""

    number: int
    author: str
    at: str
    reason: str
    text: bytes | None

    @property
    def sha(self) -> str | None:
        """sha256 of the text, 64 hex; None for a deletion."""
        return None if self.text is None else sha256(self.text).hexdigest()


@dataclass(frozen=True, slots=True)
class Kept:
    """What one change does to a history: entries to write, and numbers of those that make room."""

    added: tuple[Entry, ...]
    dropped: tuple[int, ...]


def keep(entries: Sequence[Entry], before: bytes | None, after: bytes | None, note: Note) -> Kept:
    """Take a change into a history.

    Args:
        entries: The history, oldest first.
        before: The text that is replaced; None where there was no document.
        after: The text that is written; None where it is deleted.
        note: Who, when and why.

    Returns:
        One entry more, or two where `before` was written or deleted by other means: it would else be lost.
    """
    number = entries[-1].number + 1 if entries else 1
    added = []
    if before != (entries[-1].text if entries else None):
        added.append(Entry(number, OUTSIDE, note.at, "found when the next entry was written", before))
        number += 1
    added.append(Entry(number, note.author, note.at, note.reason, after))
    over = max(0, len(entries) + len(added) - max(note.kept, len(added)))
    return Kept(tuple(added), tuple(entry.number for entry in entries[:over]))


def key_of(key: str, number: int) -> str:
    """Give the key of an entry below the prefix of the history; keys sort as numbers do."""
    return f"{key}/{number:0{_NUMBER_DIGITS}d}"


def number_of(key: str, entry_key: str) -> int | None:
    """Read the number off an entry's key; None where it belongs to another document."""
    rest = entry_key.removeprefix(f"{key}/")
    is_ours = rest != entry_key and rest.isascii() and rest.isdigit()
    return int(rest) if is_ours else None


def write_entry(entry: Entry) -> bytes:
    """Write an entry as the JSON that is stored."""
    told = {"author": entry.author, "at": entry.at, "reason": entry.reason, "sha256": entry.sha, **_packed(entry.text)}
    return json.dumps(told, ensure_ascii=False).encode()


def read_entry(number: int, value: bytes) -> Entry:
    """Read an entry.

    Raises:
        EntryUnreadable: The value is no entry, or its text is not the one it names.
    """
    try:
        told = json.loads(value)
        entry = Entry(number, str(told["author"]), str(told["at"]), str(told["reason"]), _unpacked(told))
        promised = told["sha256"]
    except (ValueError, KeyError, TypeError, binascii.Error, OSError, EOFError, zlib.error) as error:
        raise EntryUnreadable(f"entry {number} of the history cannot be read: {error}") from error
    if entry.sha != promised:
        raise EntryUnreadable(f"entry {number} of the history was changed after it was written")
    return entry


def _packed(text: bytes | None) -> dict[str, Any]:
    if text is None:
        return {"deleted": True}
    if len(text) <= _PLAIN_BYTES:
        try:
            return {"text": text.decode()}
        except UnicodeDecodeError:
            pass  # a text that somebody put there by hand may be anything
    return {"gzip": base64.b64encode(gzip.compress(text, mtime=0)).decode()}


def _unpacked(told: Mapping[str, Any]) -> bytes | None:
    if told.get("deleted"):
        return None
    if "gzip" in told:
        return gzip.decompress(base64.b64decode(told["gzip"], validate=True))
    text: str = told["text"]
    return text.encode()
