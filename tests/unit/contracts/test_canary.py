from bisect import bisect_left
from functools import reduce
from itertools import pairwise
from math import sqrt
from operator import add

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.canary import bucket, exact_sum, slices

KEYS = 200_000
STEPS = [5, 10, 25, 50]


@pytest.fixture(scope="module")
def sorted_buckets() -> list[float]:
    return sorted(bucket("", "bert-base-chinese", f"user-{number}") for number in range(KEYS))


def count(sorted_buckets: list[float], low: float, high: float) -> int:
    return bisect_left(sorted_buckets, high) - bisect_left(sorted_buckets, low)


def test_a_bucket_is_the_first_eight_bytes_over_two_to_the_sixty_fourth() -> None:
    # printf 'saltmodelkey' | sha256sum | cut -c1-16
    assert bucket("salt", "model", "key") == pytest.approx(0x9A666103B3A86512 / 2**64, abs=2**-53)


@pytest.mark.parametrize("percentage", [5, 0.1, 0, 100, 0.01, 50])
def test_shares_are_within_binomial_bounds_over_200_000_keys(sorted_buckets: list[float], percentage: float) -> None:
    [(low, high)] = slices([percentage])
    share = percentage / 100

    assert abs(count(sorted_buckets, low, high) - KEYS * share) <= 4 * sqrt(KEYS * share * (1 - share))


def test_the_second_rule_has_its_share_too(sorted_buckets: list[float]) -> None:
    _, (low, high) = slices([50, 0.1])

    assert abs(count(sorted_buckets, low, high) - KEYS * 0.001) <= 4 * sqrt(KEYS * 0.001 * 0.999)


def test_zero_is_none_and_a_hundred_is_all(sorted_buckets: list[float]) -> None:
    assert slices([0]) == ((0.0, 0.0),)
    assert slices([100]) == ((0.0, 1.0),)
    assert count(sorted_buckets, *slices([0])[0]) == 0
    assert count(sorted_buckets, *slices([100])[0]) == KEYS


def test_raising_a_percentage_only_adds_keys() -> None:
    keys = [f"user-{number}" for number in range(10_000)]
    inside = [
        {key for key in keys if low <= bucket("", "m", key) < high}
        for [(low, high)] in map(slices, [[s] for s in STEPS])
    ]

    for fewer, more in pairwise(inside):
        assert fewer < more


def test_a_key_stays_where_it_is_and_another_salt_or_model_deals_anew() -> None:
    assert bucket("", "m", "user-1") == bucket("", "m", "user-1")
    assert len({bucket(salt, model, "user-1") for salt in "ab" for model in "mn"}) == 4


@pytest.mark.parametrize("key", ["", "模型", "\udcff", "x" * 10_000])
def test_any_key_has_a_place(key: str) -> None:
    assert 0 <= bucket("", "m", key) < 1


def test_with_two_rules_a_raise_moves_no_key_of_the_other() -> None:
    for step in STEPS:
        assert slices([step, 5])[1] == slices([0, 5])[1]
        assert slices([5, step])[0] == slices([5, 0])[0]
    assert slices([5, 5]) == ((0.0, 0.05), (0.95, 1.0))


def test_more_rules_stack_from_both_ends() -> None:
    assert slices([10, 20, 30, 40]) == ((0.0, 0.1), (0.8, 1.0), (0.1, 0.4), (0.4, 0.8))
    assert slices([]) == ()


def test_percentages_add_up_as_they_are_written() -> None:
    assert reduce(add, [0.1] * 1000) != 100  # `sum` itself is exact enough from Python 3.12 on
    assert exact_sum([33.3, 33.3, 33.4]) == 100
    assert exact_sum([0.1] * 1000) == 100
    (_, first_high), (second_low, _), (third_low, third_high) = slices([33.3, 33.3, 33.4])
    assert (first_high, third_high) == (third_low, second_low)


@pytest.mark.parametrize("percentages", [[-1], [100.1], [60, 60], [50, 50, 0.01]])
def test_percentages_out_of_range_are_refused(percentages: list[float]) -> None:
    with pytest.raises(ValueError, match="at most 100 in sum"):
        slices(percentages)


@settings(deadline=None)
@given(st.lists(st.decimals(0, 20, places=2).map(float), max_size=5))
def test_slices_never_overlap_and_keep_their_width(percentages: list[float]) -> None:
    owned = slices(percentages)

    for (low, high), percentage in zip(owned, percentages, strict=True):
        assert 0 <= low <= high <= 1
        assert high - low == pytest.approx(percentage / 100, abs=1e-12)
    for (_, high), (low, _) in pairwise(sorted(each for each in owned if each[0] < each[1])):
        assert high <= low
