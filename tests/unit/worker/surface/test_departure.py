from __future__ import annotations

import asyncio

import pytest
from starlette.types import Message

from worker.surface.departure import until_client_leaves


class Client:
    """Stays until it is told to leave; what it sends before says nothing."""

    def __init__(self) -> None:
        self.leaves = asyncio.Event()
        self._messages: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive(self) -> Message:
        if self._messages:
            return self._messages.pop()
        await self.leaves.wait()
        return {"type": "http.disconnect"}


def test_work_for_a_client_that_stays_is_done() -> None:
    done: list[str] = []

    async def work() -> None:
        await asyncio.sleep(0)
        done.append("all")

    asyncio.run(until_client_leaves(Client().receive, work()))

    assert done == ["all"]


def test_work_for_a_client_that_leaves_is_cancelled_and_waited_for() -> None:
    told: list[str] = []

    async def story() -> None:
        client = Client()

        async def work() -> None:
            client.leaves.set()
            try:
                await asyncio.sleep(60)
            finally:
                await asyncio.sleep(0)
                told.append("cleaned up")

        await until_client_leaves(client.receive, work())

    asyncio.run(story())

    assert told == ["cleaned up"]


def test_what_the_work_raises_comes_out_as_it_was() -> None:
    failure = ValueError("wrong")

    async def work() -> None:
        raise failure from KeyError("why")

    with pytest.raises(ValueError, match="wrong") as raised:
        asyncio.run(until_client_leaves(Client().receive, work()))

    assert raised.value is failure
    assert isinstance(raised.value.__cause__, KeyError)


def test_who_is_told_to_stop_stops_the_work() -> None:
    stopped: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            stopped.append("work")
            raise

    async def story() -> None:
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(until_client_leaves(Client().receive, work()))
            await asyncio.sleep(0.01)
            serving.cancel()

    asyncio.run(story())

    assert stopped == ["work"]
