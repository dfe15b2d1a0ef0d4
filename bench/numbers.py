"""Arithmetic on measured series."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
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


def percentile_within(moments: Sequence[float], values: Sequence[float], share: float, *, window: float) -> float:
    """The percentile of each window of time by itself, and of these the median.

    What happens more rarely than in every second window does not move it, however long it takes.

    Args:
        moments: When each value was due, in the unit of `window`.
        values: As many.
        share: 0..1.
        window: Length of the windows, the first of which begins at 0.
    """
    windows: defaultdict[int, list[float]] = defaultdict(list)
    for moment, value in zip(moments, values, strict=True):
        windows[int(moment / window)].append(value)
    return spread([percentile(sorted(inside), share) for inside in windows.values()]).middle
