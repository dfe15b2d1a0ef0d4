"""`Retry-After` of our own 429 and 503 (clients.md section 8)."""

from __future__ import annotations

from math import ceil

UNKNOWN_S = 5.0
LEAST_S = 1
MOST_S = 120
SPREAD = 0.2


def retry_after_s(back_at: float | None, *, now: float, draw: float) -> int:
    """Say in how many whole seconds asking again may help, 1 to 120.

    Args:
        back_at: Monotonic second at which the first instance may be ready again; None where nothing is known.
        now: Monotonic second.
        draw: Uniform in [0, 1); spreads clients over up to 20 % more, so that they do not return together.
    """
    wait = UNKNOWN_S if back_at is None else back_at - now
    # Cut before spreading: clients sent away for the longest time must not all return in the same second.
    wait = min(wait, MOST_S / (1 + SPREAD))
    return max(LEAST_S, min(MOST_S, ceil(wait * (1 + SPREAD * draw))))
