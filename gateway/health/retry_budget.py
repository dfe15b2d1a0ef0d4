"""Budget for repeats of one version: a failing version must not be loaded further by its own repeats (http.md 2.5)."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BudgetSettings:
    """The numbers of http.md section 2.5."""

    share: float = 0.2
    """Repeats per request in flight."""
    floor: int = 3
    """Repeats that are always allowed, so that a quiet version may repeat at all."""
    ttl_s: float = 10.0
    """How long a repeat counts."""


DEFAULTS = BudgetSettings()


@dataclass(frozen=True, slots=True)
class RetryBudget:
    """The repeats of one version that still count: monotonic seconds, ascending."""

    spent: tuple[float, ...] = ()


def withdraw(
    budget: RetryBudget, *, in_flight: int, now: float, settings: BudgetSettings = DEFAULTS
) -> RetryBudget | None:
    """Take one repeat out of the budget.

    Args:
        budget: What has been spent.
        in_flight: Requests of the version in flight, all instances together.
        now: Monotonic second, not before any earlier call's.
        settings: Share, floor and lifetime.

    Returns:
        The budget afterwards, or None where it is spent: the request is not repeated.
    """
    still = budget.spent[bisect_right(budget.spent, now - settings.ttl_s) :]
    if len(still) >= max(settings.floor, int(settings.share * in_flight)):
        return None
    return RetryBudget((*still, now))
