"""Compares names of GPUs by word: `A100` fits `NVIDIA A100-SXM4-40GB`, `A10` does not (design section 6)."""

from __future__ import annotations

import re
from collections.abc import Sequence

_WORD = re.compile(r"[a-z0-9]+")


def words(name: str) -> list[str]:
    """Split a name into its words, small letters."""
    return _WORD.findall(name.lower())


def is_named(name: str, wanted: Sequence[str]) -> bool:
    """Say whether the words of one wanted name stand in the device's name, side by side."""
    padded = f" {' '.join(words(name))} "
    return any(f" {' '.join(words(each))} " in padded for each in wanted)
