from __future__ import annotations

from bench.plan import open_rate, rotated


def test_each_round_begins_with_another() -> None:
    assert [rotated("abc", turn) for turn in range(4)] == [list("abc"), list("bca"), list("cab"), list("abc")]
    assert rotated([], 3) == []


def test_the_open_rate_is_one_that_both_can_take() -> None:
    assert open_rate(60_000, 20_000) == 10_000
    assert open_rate(100, 20_000) == 50
