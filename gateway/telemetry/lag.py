"""Measure how late the event loop is: the first sign of work that does not belong on it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


async def watch_lag(observe: Callable[[float], None], *, now: Callable[[], float], every_s: float = 0.25) -> None:
    """Sleep over and over and tell `observe` by how many seconds each sleep was too long. Ends when cancelled."""
    while True:
        wanted = now() + every_s
        await asyncio.sleep(every_s)
        observe(max(0.0, now() - wanted))
