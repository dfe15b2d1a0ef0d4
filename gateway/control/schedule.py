"""Which instance is probed next: heaps of moments, with those that cannot wait in front."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable
from enum import IntEnum

from gateway.control.standing import InstanceKey

AT_ONCE = float("-inf")
"""The moment of an instance that is new or changed: before everything else that is due."""
NEVER = float("inf")
"""The moment of an instance that others probe, until it is hastened."""


class _Rank(IntEnum):
    FIRST = 0
    UP = 1
    DOWN = 2


_AWAKE = (AT_ONCE, _Rank.FIRST)
_USUAL, _LAST_FIRST = (_Rank.FIRST, _Rank.UP, _Rank.DOWN), (_Rank.DOWN, _Rank.FIRST, _Rank.UP)


class ProbeSchedule:
    """Keeps one moment per instance; an instance that is being probed has none until it is put back.

    Where more is due than may be probed, those come first that are new, changed or taken over from another gateway,
    then instances in good order, so that a fleet of dead addresses does not keep live ones from being looked at; but
    every fourth probe goes to one that is down, or none would ever come back.

    Args:
        now: The monotonic clock.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._at: dict[InstanceKey, tuple[float, _Rank]] = {}
        self._heaps: dict[_Rank, list[_Entry]] = {rank: [] for rank in _Rank}
        self._serial = itertools.count()
        self._turns = itertools.cycle((_USUAL, _USUAL, _USUAL, _LAST_FIRST))
        self._changed = asyncio.Event()

    def put(self, key: InstanceKey, at: float, *, is_down: bool = False) -> None:
        """Set the moment of an instance's next probe, whatever was set before."""
        rank = _Rank.FIRST if at == AT_ONCE else _Rank.DOWN if is_down else _Rank.UP
        self._put(key, at, rank)

    def hasten(self, key: InstanceKey, at: float) -> None:
        """Bring the next probe forward; never puts it off, and leaves alone what is being probed now."""
        known = self._at.get(key)
        if known is not None and at < known[0]:
            self.put(key, at)

    def rouse(self, key: InstanceKey, at: float) -> None:
        """Take over an instance that was left to others: due among the first; leaves alone what has a moment."""
        if self._at.get(key, _AWAKE)[0] == NEVER:
            self._put(key, at, _Rank.FIRST)

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
            await self._wait_until(self.earliest())

    def take_due(self) -> InstanceKey | None:
        """Take out an instance that is due now; None where none is."""
        now = self._now()
        if not self._at:
            return None
        for rank in next(self._turns):
            heap = self._fresh(rank)
            if heap and heap[0][0] <= now:
                key = heapq.heappop(heap)[2]
                del self._at[key]
                return key
        return None

    def earliest(self) -> float | None:
        """Give the moment of the next probe; None where there is none."""
        return min((heap[0][0] for rank in _Rank if (heap := self._fresh(rank))), default=None)

    def _put(self, key: InstanceKey, at: float, rank: _Rank) -> None:
        self._at[key] = (at, rank)
        if at < NEVER:
            heapq.heappush(self._heaps[rank], (at, next(self._serial), key))
            self._changed.set()

    def _fresh(self, rank: _Rank) -> list[_Entry]:
        """Give the heap of a rank, without entries in front that a later `put` or `drop` has overtaken."""
        heap = self._heaps[rank]
        while heap and self._at.get(heap[0][2]) != (heap[0][0], rank):
            heapq.heappop(heap)
        return heap

    async def _wait_until(self, at: float | None) -> None:
        delay = None if at is None else max(0.0, at - self._now())
        try:
            async with asyncio.timeout(delay):
                await self._changed.wait()
        except TimeoutError:
            return


_Entry = tuple[float, int, InstanceKey]
