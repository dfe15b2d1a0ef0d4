"""Reads what a private key is encrypted with."""

from __future__ import annotations

from pathlib import Path

from inference_dna.measure.reading import reading_errors


def read_passphrase(path: Path | None) -> bytes | None:
    """Read the first line of a file; None where there is no file.

    Raises:
        Refused: The file cannot be read.
    """
    if path is None:
        return None
    with reading_errors(f"the file {str(path)!a}"):
        return path.read_bytes().split(b"\n")[0].rstrip(b"\r")
