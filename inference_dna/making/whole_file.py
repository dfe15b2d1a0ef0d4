"""Writes a file so that readers find all of it or what was there before."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from inference_dna.canonical import Refused

STANDARD_OUTPUT = Path("-")


def write_whole(path: Path, text: str) -> None:
    """Write a text under a temporary name beside the target and rename it; `-` is standard output.

    Raises:
        Refused: The place cannot be written to.
    """
    if path == STANDARD_OUTPUT:
        sys.stdout.write(text)
        return
    try:
        _write_and_rename(path, text)
    except OSError as error:
        raise Refused(f"Writing {str(path)!a} failed: {error.strerror}.") from error


def _write_and_rename(path: Path, text: str) -> None:
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        # A temporary file is private; a manifest is for everybody.
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
