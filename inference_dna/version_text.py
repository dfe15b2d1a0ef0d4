"""How a version stands in the name of a file."""

from __future__ import annotations

from inference_dna.canonical import Refused
from inference_dna.semver import read_version


def version_text(version: str) -> str:
    """Write a version with its `v`; `v2.4.0` and `2.4.0` are one.

    Raises:
        Refused: The text is no version.
    """
    text = read_version(version)
    if text is None:
        raise Refused(f"{version!a} is no version; write it like v2.4.0.")
    return text
