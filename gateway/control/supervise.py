"""Keep a loop running: a fault of ours in the background must be seen, and must not end the background."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

FIRST_S = 0.5
MOST_S = 30.0
"""Longest pause; and so long a loop has to run for its faults before to be forgotten."""
DEAD_S = 300.0
"""A loop that did not run well for so long is dead: the admin port says so (reference page `consul`, W22)."""


class LoopState:
    """Knows whether a loop runs well.

    Args:
        now: Monotonic clock.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._started_at: float | None = None
        self._failing_since: float | None = None

    def started(self) -> None:
        """It was started, or started again."""
        self._started_at = self._now()

    def ended(self) -> None:
        """It failed, or ended although it is not meant to."""
        if self.runs_well or self._failing_since is None:
            self._failing_since = self._now()
        self._started_at = None

    @property
    def runs_well(self) -> bool:
        """It has been running for a while."""
        return self._started_at is not None and self._now() - self._started_at > MOST_S

    @property
    def is_dead(self) -> bool:
        """It has failed again and again for longer than a disturbance lasts."""
        return self._failing_since is not None and not self.runs_well and self._now() - self._failing_since > DEAD_S


def dead(loops: Mapping[str, LoopState]) -> tuple[str, ...]:
    """Name the loops that are dead."""
    return tuple(name for name, state in loops.items() if state.is_dead)


async def keep_running(
    work: Callable[[], Awaitable[None]],
    *,
    on_fault: Callable[[Exception], None],
    state: LoopState,
    first_s: float = FIRST_S,
) -> None:
    """Run `work` again whenever it fails, after a pause that doubles up to half a minute. Ends when cancelled.

    Args:
        work: A loop that is not meant to end.
        on_fault: Is told each failure.
        state: Is told when it starts and ends.
        first_s: Seconds of the first pause.
    """
    pause_s = first_s
    while True:
        state.started()
        try:
            await work()
        except Exception as fault:  # noqa: BLE001 - whatever it is, the loop goes on and the fault is reported
            on_fault(fault)
        if state.runs_well:
            pause_s = first_s  # it ran well for a while: this is a new fault
        state.ended()
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, MOST_S)
