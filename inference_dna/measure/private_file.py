"""Files that nobody else may write: what lies in one was written by this user or by root."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from inference_dna.canonical import Refused

MAX_BYTES = 64 * 1024 * 1024

_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


def check_private(path: Path, status: os.stat_result, kind: int) -> None:
    """Refuse what is of another kind, belongs to somebody else, or can be written by others.

    Args:
        path: For the sentence.
        status: Of the thing itself, not of what a link leads to.
        kind: `stat.S_IFREG` or `stat.S_IFDIR`.

    Raises:
        Refused: As said.
    """
    if stat.S_IFMT(status.st_mode) != kind or status.st_uid != os.geteuid() or status.st_mode & _OTHERS_MAY_WRITE:
        raise Refused(f"The path {str(path)!a} is not private: somebody else owns it or may write there.")


def read_private(path: Path) -> bytes:
    """Read a private file whole.

    Raises:
        Refused: It is not private, or larger than `MAX_BYTES`.
        OSError: It cannot be read, or is a link.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        check_private(path, status, stat.S_IFREG)
        if status.st_size > MAX_BYTES:
            raise Refused(f"The file {str(path)!a} has {status.st_size} bytes; more than 64 MiB are not read.")
        return stream.read()


def write_private(path: Path, content: bytes) -> None:
    """Write a new file, mode 0600.

    Raises:
        OSError: There is one of that name, or it cannot be written.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)


def replace_private(path: Path, content: bytes) -> None:
    """Write a file in one step: readers see the old content or the new.

    Raises:
        OSError: It cannot be written; the old content stands.
    """
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        write_private(draft, content)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
