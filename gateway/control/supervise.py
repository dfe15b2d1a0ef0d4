"""Keep a loop running: a fault of ours in the background must be seen, and must not end the background."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

FIRST_S = 0.5
MOST_S = 30.0


async def keep_running(
    work: Callable[[], Awaitable[None]], *, on_fault: Callable[[Exception], None], first_s: float = FIRST_S
) -> None:
    """Run `work` again whenever it fails, after a pause that doubles up to half a minute. Ends when cancelled.

    Args:
        work: A loop that is not meant to end.
        on_fault: Is told each failure.
        first_s: Seconds of the first pause.
    """
    pause_s = first_s
    while True:
        started = asyncio.get_running_loop().time()
        try:
            await work()
        except Exception as fault:  # noqa: BLE001 - whatever it is, the loop goes on and the fault is reported
            on_fault(fault)
        if asyncio.get_running_loop().time() - started > MOST_S:
            pause_s = first_s  # it ran well for a while: this is a new fault
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, MOST_S)
