from __future__ import annotations

import math

import pytest

from bench.numbers import Spread, percentile, percentile_within, ratios, spread


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


def test_one_bad_window_does_not_move_the_percentile_within_a_window() -> None:
    moments = [number / 100 for number in range(500)]
    slow_once = [9.0 if 2.0 <= moment < 3.0 else 1.0 for moment in moments]
    slow_always = [9.0 if number % 100 in (7, 8) else 1.0 for number in range(500)]

    assert percentile(sorted(slow_once), 0.99) == 9.0
    assert percentile_within(moments, slow_once, 0.99, window=1.0) == 1.0
    assert percentile_within(moments, slow_always, 0.99, window=1.0) == 9.0


def test_within_no_window_there_is_no_percentile() -> None:
    assert math.isnan(percentile_within([], [], 0.99, window=1.0))
