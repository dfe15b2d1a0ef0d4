"""Read one document from disk, whole or not at all."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from contracts.key import KeyRefused
from gateway.sources.paths import parse_path
from gateway.sources.reading import DocumentText
from gateway.sources.tree import Stamp, stamp_of

_RESTLESS = "keeps changing while it is read"


@dataclass(frozen=True, slots=True)
class DocumentFile:
    """What is known of one file.

    Attributes:
        stamp: Of the moment it was read; None where it should be tried again in every round.
        key: The key its path names; None where it names none.
        document: Its text, where it could be read.
        fault: Else why not, as a sentence.
    """

    stamp: Stamp | None
    key: str | None
    document: DocumentText | None = None
    fault: str | None = None


class Unsettled(Exception):
    """The file changed while it was read; look again in the next round."""


def take(root: Path, path: str, *, max_bytes: int) -> DocumentFile:
    """Read the file at `path` under `root`; every failure but one becomes its `fault`.

    Raises:
        Unsettled: It changed while it was read.
    """
    try:
        stamp, text = _read(root / path, max_bytes)
    except OSError as error:
        return DocumentFile(None, key_or_none(path), fault=f"cannot be read: {error.strerror}")
    try:
        key = str(parse_path(path))
    except KeyRefused as error:
        return DocumentFile(stamp, None, fault=str(error))
    if text is None:
        return DocumentFile(stamp, key, fault=f"has {stamp[2]} bytes, more than the {max_bytes} a document may have")
    return DocumentFile(stamp, key, DocumentText(key, text, path))


def key_or_none(path: str) -> str | None:
    """Give the key a path names, or None."""
    try:
        return str(parse_path(path))
    except KeyRefused:
        return None


def _read(file: Path, max_bytes: int) -> tuple[Stamp, bytes | None]:
    """Read a regular file with its stamp before and after; None in place of text that is too long."""
    # Without O_NONBLOCK a pipe that took the file's place since the walk would hang the thread.
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            raise Unsettled(_RESTLESS)
        with open(descriptor, "rb", closefd=False) as opened:
            text = opened.read(max_bytes + 1)
        if stamp_of(os.fstat(descriptor)) != stamp_of(before):
            raise Unsettled(_RESTLESS)
    finally:
        os.close(descriptor)
    return stamp_of(before), text if len(text) <= max_bytes else None
