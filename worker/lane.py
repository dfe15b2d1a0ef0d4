"""Runs inference off the event loop: few threads, a bounded number of requests waiting for them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
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
        self._turns = asyncio.Semaphore(threads)

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

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Hold one of as many turns as there are threads, for work that is done in many calls; first come first served.

        What such work keeps between its calls (a generation's cache) exists once per turn and no more often.
        """
        async with self._turns:
            yield

    async def run(self, call: Callable[[], Result]) -> Result:
        """Run a call in one of the threads and wait for it.

        A caller that is cancelled waits until the thread has let go: afterwards nothing of the call is under way.
        """
        running = self._pool.submit(call)
        outcome = asyncio.wrap_future(running)
        try:
            return await asyncio.shield(outcome)
        except asyncio.CancelledError:
            if not running.cancel():
                # A failure has nobody left who would hear of it.
                await asyncio.gather(outcome, return_exceptions=True)
            raise

    def close(self) -> None:
        """End the threads after what they are doing."""
        self._pool.shutdown()
