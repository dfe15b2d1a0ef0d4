"""The only place that reads clocks and draws lots. Everything else is handed these."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable

from gateway.proxy.request_ids import RequestIds

Clock = Callable[[], float]
"""Returns seconds; monotonic unless a name says wall."""
Dice = Callable[[], float]
"""Returns a number drawn uniformly from [0, 1)."""

now: Clock = time.monotonic  # noqa: TID251 - this is the one reader
wall: Clock = time.time  # noqa: TID251 - this is the one reader
draw: Dice = random.random  # noqa: TID251 - this is the one drawer

request_ids = RequestIds(secrets.token_hex(6), secrets.randbits(40))


def new_life() -> str:
    """Give 8 hex that were, in all likelihood, never given before."""
    return secrets.token_hex(4)
