"""A value that is made once per process, however many threads and tasks ask for it at the same moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Once(Generic[Value]):
    """Makes a value when it is first asked for. A failure is made once too: everybody gets the same exception.

    Args:
        make: Makes it; never called twice.
    """

    def __init__(self, make: Callable[[], Value]) -> None:
        self._make = make
        self._lock = Lock()
        self._made: list[Value] = []
        self._failure: BaseException | None = None

    def get(self) -> Value:
        """Give the value; whoever comes while it is being made waits.

        Raises:
            BaseException: What making it raised, the first time and each time after.
        """
        # A list is filled in one step, so that reading needs no lock once the value is there.
        if not self._made:
            with self._lock:
                self._make_once()
        return self._made[0]

    async def get_soon(self) -> Value:
        """As `get`, without holding up the event loop."""
        return self._made[0] if self._made else await asyncio.to_thread(self.get)

    def _make_once(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self._made:
            return
        try:
            self._made.append(self._make())
        except BaseException as failure:
            self._failure = failure
            raise
