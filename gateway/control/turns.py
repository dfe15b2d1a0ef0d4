"""Long work on the event loop's thread, in turns with everything else: a request never waits for all of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from typing import TypeVar

PER_TURN = 25
"""So many documents, or instances, are worked on before the loop turns to what waits: some milliseconds."""

T = TypeVar("T")


def _one(item: object) -> int:
    del item
    return 1


async def in_turns(items: Iterable[T], *, size: Callable[[T], int] = _one, most: int = PER_TURN) -> AsyncIterator[T]:
    """Hand out every item, and let the loop run whenever those handed out since have reached `most` in size.

    Fewer than that are handed out without a pause: who works on a few things is done before anything else happens.
    """
    done = 0
    for item in items:
        yield item
        done += size(item)
        if done >= most:
            done = 0
            await asyncio.sleep(0)
