"""Arithmetic on measured series."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """Least, median and greatest of a few repeats."""

    low: float
    middle: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    """Summarise repeats; of none all three are `nan`."""
    if not values:
        return Spread(math.nan, math.nan, math.nan)
    return Spread(min(values), statistics.median(values), max(values))


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Ours divided by theirs, round by round; rounds in which they did nothing are left out."""
    return [mine / other for mine, other in zip(ours, theirs, strict=True) if other > 0]


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value below which `share` (0..1) of a sorted series lies, nearest rank; `nan` of an empty one."""
    if not ordered:
        return math.nan
    return ordered[min(max(math.ceil(share * len(ordered)) - 1, 0), len(ordered) - 1)]
