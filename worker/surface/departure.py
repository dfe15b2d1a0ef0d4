"""Notices that a client has left, and ends what was done for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

from starlette.types import Receive


async def until_client_leaves(receive: Receive, work: Coroutine[None, None, None]) -> None:
    """Do some work; if the client leaves first, cancel it and wait until it has ended.

    Args:
        receive: The connection's; the request's body was read to its end.
        work: What is done for the client.

    Raises:
        Exception: What the work raised.
    """
    failure: BaseException | None = None
    try:
        async with asyncio.TaskGroup() as group:
            working = group.create_task(work)
            watching = group.create_task(_watch(receive, working.cancel))
            working.add_done_callback(lambda _: watching.cancel())
    except BaseExceptionGroup as failed:
        # Only the work can fail, so there is exactly one.
        failure = failed.exceptions[0]
    if failure is not None:
        raise failure


async def _watch(receive: Receive, on_leave: Callable[[], object]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    on_leave()
