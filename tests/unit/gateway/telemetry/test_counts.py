from __future__ import annotations

from gateway.telemetry.counts import DURATION_BUCKETS, Distribution


def test_a_value_counts_under_the_first_bound_that_is_not_below_it() -> None:
    counted = Distribution((0.1, 1.0))
    for value in (0.05, 0.1, 0.5, 5.0):
        counted.observe(value)

    assert counted.cumulative() == [("0.1", 2.0), ("1.0", 3.0), ("+Inf", 4.0)]
    assert counted.total == 5.65


def test_duration_buckets_double_from_ten_milliseconds() -> None:
    assert DURATION_BUCKETS[0] == 0.01
    assert DURATION_BUCKETS[-1] == 81.92
