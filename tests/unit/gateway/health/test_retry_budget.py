"""http.md section 2.5: repeats may be a fifth of what is in flight, at least three, for ten seconds."""

from __future__ import annotations

import pytest

from gateway.health.retry_budget import BudgetSettings, RetryBudget, withdraw


def withdrawals(in_flight: int, *, now: float = 100.0, budget: RetryBudget | None = None) -> int:
    """Count how many repeats the budget gives in one moment."""
    count, left = 0, withdraw(budget or RetryBudget(), in_flight=in_flight, now=now)
    while left is not None:
        count, left = count + 1, withdraw(left, in_flight=in_flight, now=now)
    return count


@pytest.mark.parametrize(
    ("in_flight", "allowed"), [(0, 3), (1, 3), (15, 3), (19, 3), (20, 4), (24, 4), (25, 5), (100, 20), (1000, 200)]
)
def test_a_fifth_of_the_requests_in_flight_and_at_least_three(in_flight: int, allowed: int) -> None:
    assert withdrawals(in_flight) == allowed


@pytest.mark.parametrize(("now", "allowed"), [(109.9, 0), (110.0, 2), (111.9, 2), (112.0, 3)])
def test_repeats_count_for_ten_seconds(now: float, allowed: int) -> None:
    spent = RetryBudget((100.0, 100.0, 102.0))

    assert withdrawals(0, now=now, budget=spent) == allowed


def test_what_no_longer_counts_is_not_kept() -> None:
    assert withdraw(RetryBudget((1.0, 2.0, 99.0)), in_flight=0, now=100.0) == RetryBudget((99.0, 100.0))


def test_the_numbers_are_settings() -> None:
    settings = BudgetSettings(share=0.5, floor=0, ttl_s=1.0)

    assert withdraw(RetryBudget(), in_flight=1, now=5.0, settings=settings) is None
    assert withdraw(RetryBudget((4.0,)), in_flight=2, now=5.0, settings=settings) == RetryBudget((5.0,))
