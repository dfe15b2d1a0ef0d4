"""Runs inference off the event loop: few threads, a bounded number of requests waiting for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

Result = TypeVar("Result")


class Saturated(Exception):
    """Every place is taken; try again in a second."""


class Lane:
    """Threads and places. Every method is called on the event loop, so counting needs no lock.

    Args:
        threads: How many inferences run at once.
        waiting: How many more may wait for a thread.
    """

    def __init__(self, *, threads: int, waiting: int) -> None:
        self._pool = ThreadPoolExecutor(threads, "inference")
        self._places = threads + waiting
        self._taken = 0

    @contextmanager
    def place(self) -> Iterator[None]:
        """Hold one place for the length of the block.

        Raises:
            Saturated: There is none.
        """
        if self._taken >= self._places:
            raise Saturated
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1

    async def run(self, call: Callable[[], Result]) -> Result:
        """Run a call in one of the threads and wait for it."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, call)

    def close(self) -> None:
        """End the threads after what they are doing."""
        self._pool.shutdown()
