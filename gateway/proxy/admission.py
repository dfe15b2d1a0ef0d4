"""The only queue there is: requests waiting for room on their version, bounded in number and time (http.md 2.2).

Oldest first, for as long as that answers everybody in time. Under overload, which is when the oldest has used up three
quarters of its patience, newest first: serving in turn would then answer nobody before its client has given up.
"""

from __future__ import annotations

from itertools import islice
from typing import Protocol

VersionKey = tuple[str, str]
"""Model id and printed version."""

_LOOKS = 8
"""How many may look at one free place: wishes differ, but a place that nobody can use must not cost a whole queue."""


class Waiting(Protocol):
    """A request that waits for room."""

    waits_until: float

    def admit(self) -> None:
        """There may be room now: try again, and join again if there is none."""

    def give_up(self) -> None:
        """The wait is over without room."""


class _Queue:
    """Who waits for one version, oldest first."""

    __slots__ = ("places", "rejoined", "waiting")

    def __init__(self) -> None:
        self.waiting: dict[Waiting, None] = {}
        self.places = 0
        self.rejoined: Waiting | None = None
        """Who was admitted last, found no room and keeps its place."""

    def admit(self, waiting: Waiting) -> bool:
        """Let one try; say whether it left the queue."""
        self.rejoined = None
        waiting.admit()
        if self._keeps_place(waiting):
            return False
        self.waiting.pop(waiting, None)
        return True

    def _keeps_place(self, waiting: Waiting) -> bool:
        return self.rejoined is waiting


class Admission:
    """Queues by version."""

    def __init__(self, *, floor: int, wait_s: float) -> None:
        self._floor = floor
        self._patience_s = wait_s / 4
        self._queues: dict[VersionKey, _Queue] = {}

    def join(self, key: VersionKey, waiting: Waiting, *, capacity: int) -> bool:
        """Take a place, or keep the one held; say no where all are taken.

        Args:
            key: The version.
            waiting: Who waits.
            capacity: Room of the version's ready instances together.
        """
        queue = self._queues.setdefault(key, _Queue())
        queue.places = max(self._floor, 2 * capacity)
        if waiting in queue.waiting:
            queue.rejoined = waiting
            return True
        if len(queue.waiting) >= queue.places:
            return False
        queue.waiting[waiting] = None
        return True

    def leave(self, key: VersionKey, waiting: Waiting) -> None:
        """Give a place up: the client left, or the request was answered."""
        queue = self._queues.get(key)
        if queue is not None:
            queue.waiting.pop(waiting, None)

    def is_empty(self, key: VersionKey) -> bool:
        """Say whether nobody waits for a version."""
        queue = self._queues.get(key) if self._queues else None  # as a rule nobody waits for anything
        return queue is None or not queue.waiting

    def freed(self, key: VersionKey, *, now: float) -> None:
        """Room came free on one instance of the version: the first in turn that can use it takes it."""
        queue = self._queues.get(key)
        if queue is None or not queue.waiting:
            return
        oldest = next(iter(queue.waiting))
        is_hopeless = now >= oldest.waits_until - self._patience_s
        turn = reversed(queue.waiting) if is_hopeless else iter(queue.waiting)
        for waiting in tuple(islice(turn, _LOOKS)):
            if waiting in queue.waiting and queue.admit(waiting):
                return

    def recheck(self, key: VersionKey) -> None:
        """Instances of the version changed: let everybody who waits for it try once, oldest first."""
        queue = self._queues.get(key)
        if queue is None:
            return
        for waiting in tuple(queue.waiting):
            if waiting in queue.waiting:
                queue.admit(waiting)

    def versions(self) -> list[VersionKey]:
        """Versions somebody waits for."""
        return [key for key, queue in self._queues.items() if queue.waiting]

    def expire(self, now: float) -> None:
        """End the waits that are over; forget queues nobody waits in."""
        for key, queue in list(self._queues.items()):
            for waiting in [known for known in queue.waiting if now >= known.waits_until]:
                if queue.waiting.pop(waiting, waiting) is None:
                    waiting.give_up()
            if not queue.waiting:
                self._queues.pop(key, None)

    def waiting(self, key: VersionKey) -> int:
        """Requests that wait for this version."""
        queue = self._queues.get(key)
        return len(queue.waiting) if queue is not None else 0
