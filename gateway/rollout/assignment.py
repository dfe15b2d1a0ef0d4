"""Which canary rule, if any, owns a request's bucket."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.routing.snapshot import CanarySlice


def assign(slices: Sequence[CanarySlice], *, bucket: float) -> CanarySlice | None:
    """Find the slice that holds the bucket; None where no rule owns it and the default decides.

    Args:
        slices: One per canary rule, disjoint parts of [0, 1); a rule of 0 % owns an empty one.
        bucket: Where the sticky key falls, in [0, 1) (`contracts.canary.bucket`).
    """
    for owned in slices:
        if owned.low <= bucket < owned.high:
            return owned
    return None
