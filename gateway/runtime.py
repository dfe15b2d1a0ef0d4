"""The only place that reads clocks and draws lots. Everything else is handed these."""

from __future__ import annotations

import itertools
import random
import secrets
import time
from collections.abc import Callable

Clock = Callable[[], float]
"""Returns seconds; monotonic unless a name says wall."""
Dice = Callable[[], float]
"""Returns a number drawn uniformly from [0, 1)."""

now: Clock = time.monotonic  # noqa: TID251 - this is the one reader
wall: Clock = time.time  # noqa: TID251 - this is the one reader
draw: Dice = random.random  # noqa: TID251 - this is the one drawer

_serial = itertools.count(secrets.randbits(40))
_process = secrets.token_hex(6)


def new_request_id() -> str:
    """Name a request that came without a well-formed id: unique in this process and, by 48 random bits, beyond it."""
    return f"{_process}{next(_serial):013x}"
