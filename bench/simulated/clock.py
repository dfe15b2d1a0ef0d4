"""Time that jumps from event to event."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from typing import Any


class Clock:
    """What happens when; `now` in seconds from the start."""

    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._serial = itertools.count()

    def at(self, when: float, act: Callable[..., None], *arguments: Any) -> None:
        """Do something at a second that has not passed; what is due at the same one, in the order of asking."""
        heapq.heappush(self._events, (max(when, self.now), next(self._serial), act, arguments))

    def after(self, seconds: float, act: Callable[..., None], *arguments: Any) -> None:
        """Do something so many seconds from now."""
        self.at(self.now + seconds, act, *arguments)

    def run_until(self, end: float) -> None:
        """Let everything happen up to a second."""
        while self._events and self._events[0][0] <= end:
            self.now, _, act, arguments = heapq.heappop(self._events)
            act(*arguments)
        self.now = end
