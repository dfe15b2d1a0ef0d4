"""Breaks in a long piece of work on a thread, so that requests run in between.

A walk through ten thousand folders is 150 ms of computing. Every half second and in one piece it took a fifth of the
only core, and requests that came meanwhile waited for the interpreter again and again.
"""

from __future__ import annotations

import time
from collections.abc import Callable

WORK_S = 0.0005
"""So long is worked without a break."""
SHARE = 0.2
"""Of a core, that the work takes on average."""


class Breaks:
    """Call it between two small pieces of work. Made on the thread that works.

    Args:
        pause: Waits so many seconds.
        spent: CPU seconds of this thread so far: time in which others had the core is no work.
    """

    def __init__(self, pause: Callable[[float], None], *, spent: Callable[[], float] = time.thread_time) -> None:
        self._pause = pause
        self._spent = spent
        self._since = spent()

    def __call__(self) -> None:
        """Take a break if one is due, as long as the work since the last one asks for."""
        worked = self._spent() - self._since
        if worked >= WORK_S:
            self._pause(worked / SHARE - worked)
            self._since = self._spent()


def no_break() -> None:
    """Work on."""
