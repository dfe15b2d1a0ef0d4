"""uvicorn's server as we run it: it ends when it is told to, and keeps the date of its answers meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from gateway import listeners
from gateway.listeners import Server, address_of, admin_server, bind


async def _hello(scope: object, receive: object, send: Callable[[dict[str, object]], Awaitable[None]]) -> None:
    del scope, receive
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def date_of(address: str) -> bytes:
    """Ask over a connection of its own and give the `Date` of the answer."""
    host, port = address.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
    head = await reader.readuntil(b"\r\n\r\n")
    writer.close()
    (date,) = (line[5:].strip() for line in head.split(b"\r\n") if line.lower().startswith(b"date:"))
    return date


def play(story: Callable[[Server, str], Awaitable[None]]) -> None:
    """Serve on a free port beside a story; the story must leave the server ended."""

    async def both() -> None:
        server = admin_server(_hello)
        with bind("127.0.0.1", 0, option="--admin-port") as sock:
            async with asyncio.timeout(10), asyncio.TaskGroup() as group:
                group.create_task(server.serve(sockets=[sock]))
                while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
                    await asyncio.sleep(0.005)
                await story(server, address_of(sock))

    asyncio.run(both())


def test_the_date_of_answers_moves_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listeners, "_DATE_S", 0.02)

    async def story(server: Server, address: str) -> None:
        first = await date_of(address)
        while await date_of(address) == first:  # noqa: ASYNC110 - a second has to pass
            await asyncio.sleep(0.05)
        server.end()

    play(story)


def test_it_ends_when_told_to_and_not_at_the_next_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listeners, "_DATE_S", 3600.0)

    async def story(server: Server, address: str) -> None:
        assert await date_of(address)
        await asyncio.sleep(0)
        server.end()

    play(story)
