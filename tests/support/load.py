"""Many requests at once from one thread: asyncio, raw sockets, no client library that repeats anything by itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tests.support.raw import Response, parse_responses


@dataclass(frozen=True)
class Outcome:
    """What one client got: a complete response, or what went wrong."""

    response: Response | None
    error: str | None = None

    @property
    def status(self) -> int:
        return self.response.status if self.response is not None else 0

    @property
    def json(self) -> Any:
        assert self.response is not None, self.error
        return json.loads(self.response.body)


async def fetch(port: int, message: bytes, *, timeout_s: float = 20.0) -> Outcome:
    """One request on a connection of its own."""
    try:
        async with asyncio.timeout(timeout_s):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(message)
                data, complete = await _read_response(reader)
            finally:
                writer.close()
    except (OSError, TimeoutError) as error:
        return Outcome(None, repr(error))
    responses = parse_responses(data, closed=False)
    if not complete or not responses:
        return Outcome(None, f"incomplete: {data[:200]!r}")
    return Outcome(responses[-1])


async def _read_response(reader: asyncio.StreamReader) -> tuple[bytes, bool]:
    data = b""
    while chunk := await reader.read(65536):
        data += chunk
        responses = parse_responses(data, closed=False)
        if responses and responses[-1].complete and responses[-1].status >= 200:
            return data, True
    return data, False


async def client(port: int, message: Callable[[], bytes], stop: asyncio.Event, into: list[Outcome]) -> None:
    """Ask over and over on one kept connection until told to stop; reconnect when the server says close."""
    reader: asyncio.StreamReader | None = None
    writer: asyncio.StreamWriter | None = None
    while not stop.is_set():
        try:
            async with asyncio.timeout(20):
                if writer is None or reader is None:
                    reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(message())
                data, complete = await _read_response(reader)
        except (OSError, TimeoutError) as error:
            into.append(Outcome(None, repr(error)))
            writer = None
            continue
        responses = parse_responses(data, closed=False)
        if not complete:
            into.append(Outcome(None, f"incomplete: {data[:200]!r}"))
            writer.close()
            writer = None
            continue
        into.append(Outcome(responses[-1]))
        if responses[-1].header("connection") == "close":
            writer.close()
            writer = None
    if writer is not None:
        writer.close()


async def crowd(
    port: int, message: Callable[[], bytes], *, clients: int, meanwhile: Callable[[], Any], settle_s: float = 0.5
) -> list[Outcome]:
    """Run `clients` clients while `meanwhile` (a plain function, run in a thread) does its damage."""
    outcomes: list[Outcome] = []
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for _ in range(clients):
            group.create_task(client(port, message, stop, outcomes))
        await asyncio.sleep(settle_s)
        await asyncio.to_thread(meanwhile)
        await asyncio.sleep(settle_s)
        stop.set()
    return outcomes


async def fetch_all(port: int, messages: Iterable[bytes], *, at_once: int = 50) -> list[Outcome]:
    """Send every message once, so many at a time; outcomes in the order of the messages."""
    gate = asyncio.Semaphore(at_once)

    async def one(message: bytes) -> Outcome:
        async with gate:
            return await fetch(port, message)

    return list(await asyncio.gather(*(one(message) for message in messages)))
