"""The last good documents in a file, for a start without their source.

The file is what `consul kv export` writes, so `consul kv import` and `dna contract import` read it. Its last entry is
ours: the sha256 over all others. It is replaced whole or not at all; a damaged one counts as none. Its time of change
says when the source last confirmed what it holds.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from contracts.key import KeyRefused, parse_key
from gateway.printable import printable
from gateway.sources.reading import DocumentText

LIMIT_S = 7 * 86_400.0
MAX_BYTES = 64 * 1024 * 1024
_SEAL = "kept"
"""Name, below the root, of the entry that holds the sha256."""


class CopyUnusable(Exception):
    """There is no copy to start from; the message says why."""


class CopyUnwritable(Exception):
    """The copy could not be written; the message says why."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What the file holds.

    Attributes:
        documents: By key.
        at: Epoch second at which the source last confirmed them.
    """

    documents: Mapping[str, DocumentText]
    at: float


class _Exported(msgspec.Struct):
    """An entry of `consul kv export`."""

    key: str
    value: str
    flags: int = 0


class Copy:
    """The file.

    Args:
        file: Where it lies; its folder is made when it is first written.
        root: Prefix of its keys, with the slash.
        limit_s: A copy that was not confirmed for longer is refused.
    """

    def __init__(self, file: Path, *, root: str, limit_s: float = LIMIT_S) -> None:
        self.file = file
        self._root = root
        self._limit_s = limit_s

    def load(self, now: float) -> Kept:
        """Read it.

        Args:
            now: Epoch second.

        Raises:
            CopyUnusable: It is not there, damaged, or too old.
        """
        name = printable(str(self.file))
        try:
            at = self.file.stat().st_mtime
            with self.file.open("rb") as opened:
                text = opened.read(MAX_BYTES + 1)
        except FileNotFoundError:
            raise CopyUnusable(f"there is no copy of the last good documents ({name})") from None
        except OSError as error:
            raise CopyUnusable(f"the copy {name} cannot be read: {error.strerror}") from error
        if now - at > self._limit_s:
            days, limit = (now - at) / 86_400, self._limit_s / 86_400
            raise CopyUnusable(f"the copy {name} is {days:.1f} days old, older than the {limit:.1f} of its limit")
        return Kept(self._unsealed(text, name), at)

    def save(self, documents: Iterable[DocumentText]) -> None:
        """Replace it by these documents, whole: a crash leaves the old one.

        Raises:
            CopyUnwritable: It cannot be written.
        """
        entries = [
            _Exported(self._root + document.key, base64.b64encode(document.text).decode("ascii"))
            for document in sorted(documents, key=lambda document: document.key)
        ]
        seal = json.dumps({"sha256": _sha(entries), "documents": len(entries)}).encode()
        entries.append(_Exported(self._root + _SEAL, base64.b64encode(seal).decode("ascii")))
        text = msgspec.json.format(msgspec.json.encode(entries), indent=1)
        try:
            replace_whole(self.file, text)
        except OSError as error:
            raise CopyUnwritable(self._unwritable(error)) from error

    def confirm(self) -> None:
        """Note that the source still holds what the file holds.

        Raises:
            CopyUnwritable: The file is gone, or is not ours.
        """
        try:
            os.utime(self.file)
        except OSError as error:
            raise CopyUnwritable(self._unwritable(error)) from error

    def _unwritable(self, error: OSError) -> str:
        return (
            f"the copy of the last good documents, {printable(str(self.file))}, cannot be written: {error.strerror};"
            " name another folder in GATEWAY_KEPT_FOLDER, or none"
        )

    def _unsealed(self, text: bytes, name: str) -> dict[str, DocumentText]:
        damaged = CopyUnusable(f"the copy {name} is damaged, so it counts as none")
        if len(text) > MAX_BYTES:
            raise damaged
        try:
            *entries, seal = msgspec.json.decode(text, type=list[_Exported])
            sealed = json.loads(base64.b64decode(seal.value, validate=True))
            if seal.key != self._root + _SEAL or sealed["sha256"] != _sha(entries):
                raise damaged
            return {document.key: document for document in map(self._document, entries)}
        except (msgspec.MsgspecError, ValueError, KeyError, TypeError) as error:
            raise damaged from error

    def _document(self, entry: _Exported) -> DocumentText:
        try:
            key = str(parse_key(entry.key.removeprefix(self._root)))
        except KeyRefused as error:
            raise ValueError(str(error)) from error
        return DocumentText(key, base64.b64decode(entry.value, validate=True), entry.key)


def _sha(entries: Iterable[_Exported]) -> str:
    return hashlib.sha256("".join(f"{entry.key} {entry.value}\n" for entry in entries).encode()).hexdigest()


def replace_whole(file: Path, text: bytes) -> None:
    """Write a file, its folder where that is missing, so that a crash leaves the old one or the new one.

    Raises:
        OSError: It cannot be written; the old one is still there.
    """
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as opened:
            opened.write(text)
            opened.flush()
            os.fsync(opened.fileno())
        temporary.replace(file)
        _sync_folder(file.parent)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        raise


def _sync_folder(folder: Path) -> None:
    """Make the new name last: what a crash may lose is otherwise the rename."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
