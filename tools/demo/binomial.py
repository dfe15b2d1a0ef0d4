"""What share chance allows: bounds of a binomial count, exact, so that "about 5 %" has an answer."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import accumulate, takewhile


def binomial_bounds(trials: int, probability: float, *, doubt: float) -> tuple[int, int]:
    """Give the smallest and the largest count that chance allows.

    Args:
        trials: How often it was tried.
        probability: Of one success, in (0, 1).
        doubt: Counts outside the bounds happen at most this often, such as 0.001.
    """
    masses = [_mass(trials, probability, count) for count in range(trials + 1)]
    return _tail(masses, doubt / 2), trials - _tail(reversed(masses), doubt / 2)


def _tail(masses: Iterable[float], doubt: float) -> int:
    """Count from the end how many counts together are less likely than the doubt."""
    return sum(1 for _ in takewhile(lambda total: total <= doubt, accumulate(masses)))


def _mass(trials: int, probability: float, count: int) -> float:
    rest = trials - count
    ways = math.lgamma(trials + 1) - math.lgamma(count + 1) - math.lgamma(rest + 1)
    return math.exp(ways + count * math.log(probability) + rest * math.log1p(-probability))
