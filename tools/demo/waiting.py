"""Waiting for something that another process does, with an end and a reason."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

DEADLINE_S = 90.0
POLL_S = 0.1

Found = TypeVar("Found")


class NotYet(Exception):
    """What is waited for is not so; the message says how it stands."""


class InVain(Exception):
    """It did not become so in time; the message says what was waited for and how it stood at last."""


async def wait_until(what: str, check: Callable[[], Awaitable[Found]], *, meanwhile: Callable[[], None]) -> Found:
    """Wait until a check finds what it looks for.

    Args:
        what: What is waited for, such as `the drifted one was ejected`.
        check: Raises `NotYet` as long as it is not so.
        meanwhile: Is called between two checks; what it raises ends the waiting.

    Raises:
        InVain: It took too long.
    """
    clock = asyncio.get_running_loop().time
    deadline = clock() + DEADLINE_S
    while True:
        try:
            return await check()
        except NotYet as standing:
            if clock() > deadline:
                raise InVain(f"Waited {DEADLINE_S:.0f} s until {what}, in vain: {standing}.") from standing
        meanwhile()
        await asyncio.sleep(POLL_S)
