"""Which instance is probed next: a heap of moments, with those that cannot wait in front."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable

from gateway.control.standing import InstanceKey

AT_ONCE = float("-inf")
"""The moment of an instance that is new or changed: before everything else that is due."""
NEVER = float("inf")
"""The moment of an instance that others probe, until it is hastened."""


_AWAKE = (AT_ONCE, False)
_UP_FIRST, _DOWN_FIRST = (False, True), (True, False)


class ProbeSchedule:
    """Keeps one moment per instance; an instance that is being probed has none until it is put back.

    Where more is due than may be probed, instances in good order come first, so that a fleet of dead addresses does not
    keep live ones from being looked at; but every fourth probe goes to one that is down, or none would ever come back.

    Args:
        now: The monotonic clock.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._at: dict[InstanceKey, tuple[float, bool]] = {}
        self._heaps: tuple[list[_Entry], list[_Entry]] = ([], [])
        self._serial = itertools.count()
        self._turns = itertools.cycle((_UP_FIRST, _UP_FIRST, _UP_FIRST, _DOWN_FIRST))
        self._changed = asyncio.Event()

    def put(self, key: InstanceKey, at: float, *, is_down: bool = False) -> None:
        """Set the moment of an instance's next probe, whatever was set before."""
        self._at[key] = (at, is_down)
        if at < NEVER:
            heapq.heappush(self._heaps[is_down], (at, next(self._serial), key))
            self._changed.set()

    def hasten(self, key: InstanceKey, at: float) -> None:
        """Bring the next probe forward; never puts it off, and leaves alone what is being probed now."""
        known = self._at.get(key)
        if known is not None and at < known[0]:
            self.put(key, at)

    def rouse(self, key: InstanceKey, at: float) -> None:
        """Set the moment of an instance that was left to others; leaves alone what has one."""
        if self._at.get(key, _AWAKE)[0] == NEVER:
            self.put(key, at)

    def drop(self, key: InstanceKey) -> None:
        """Forget an instance."""
        self._at.pop(key, None)

    def __len__(self) -> int:
        return len(self._at)

    async def next(self) -> InstanceKey:
        """Wait until an instance is due and take it out."""
        while True:
            key = self.take_due()
            if key is not None:
                return key
            self._changed.clear()
            await self._wait_until(self._earliest())

    def take_due(self) -> InstanceKey | None:
        """Take out an instance that is due now; None where none is."""
        now = self._now()
        if not self._at:
            return None
        for is_down in next(self._turns):
            self._discard_stale(is_down)
            heap = self._heaps[is_down]
            if heap and heap[0][0] <= now:
                key = heapq.heappop(heap)[2]
                del self._at[key]
                return key
        return None

    def _earliest(self) -> float | None:
        return min((heap[0][0] for heap in self._heaps if heap), default=None)

    def _discard_stale(self, is_down: bool) -> None:
        """Drop entries that a later `put` or `drop` has overtaken."""
        heap = self._heaps[is_down]
        while heap and self._at.get(heap[0][2]) != (heap[0][0], is_down):
            heapq.heappop(heap)

    async def _wait_until(self, at: float | None) -> None:
        delay = None if at is None else max(0.0, at - self._now())
        try:
            async with asyncio.timeout(delay):
                await self._changed.wait()
        except TimeoutError:
            return


_Entry = tuple[float, int, InstanceKey]
