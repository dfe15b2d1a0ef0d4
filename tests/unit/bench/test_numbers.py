from __future__ import annotations

import math

import pytest

from bench.numbers import Spread, percentile, ratios, spread


def test_a_spread_is_least_middle_greatest() -> None:
    assert spread([3.0, 1.0, 2.0, 9.0]) == Spread(1.0, 2.5, 9.0)
    assert math.isnan(spread([]).middle)


def test_ratios_are_taken_round_by_round_and_skip_what_did_nothing() -> None:
    assert ratios([10.0, 30.0, 5.0], [5.0, 10.0, 0.0]) == [2.0, 3.0]


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.0, 1), (0.5, 50), (0.99, 99), (0.999, 100), (1.0, 100)],
)
def test_a_percentile_is_a_value_that_was_measured(share: float, expected: int) -> None:
    assert percentile(range(1, 101), share) == expected


def test_of_nothing_there_is_no_percentile() -> None:
    assert math.isnan(percentile([], 0.5))
