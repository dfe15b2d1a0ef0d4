"""The streaming upstream, a process: a request with `"stream":true` gets events at a fixed rate until it leaves.

Streams are spread over the slots of a period, so that a proxy sees single events and not bursts of all streams at
once. One write per event: what the proxy merges, it merges itself.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Mapping
from typing import cast

import uvloop

from bench import identity
from bench.upstream.nginx import models_body
from bench.work import answer_body, event

TICK_S = 0.001
_CHUNK = b"%x\r\n%b\r\n" % (len(event()), event())


class Wheel:
    """Sends an event to every stream once per period; each stream has its slot, one slot is one tick."""

    def __init__(self, events_per_s: float) -> None:
        self._slots: list[set[asyncio.Transport]] = [set() for _ in range(max(round(1 / (events_per_s * TICK_S)), 1))]

    def add(self, transport: asyncio.Transport) -> None:
        """Give a stream the emptiest slot."""
        min(self._slots, key=len).add(transport)

    def remove(self, transport: asyncio.Transport) -> None:
        """Forget a stream, if it was one."""
        for slot in self._slots:
            slot.discard(transport)

    async def turn(self) -> None:
        """Turn for ever; after a late wake-up the missed slots follow at once, so that the rate holds."""
        loop = asyncio.get_running_loop()
        start, done = loop.time(), 0
        while True:
            due = int((loop.time() - start) / TICK_S)
            for tick in range(done, due):
                for transport in self._slots[tick % len(self._slots)]:
                    transport.write(_CHUNK)
            done = due
            await asyncio.sleep(TICK_S)


class Worker(asyncio.Protocol):
    """One connection. Requests here are small and come one at a time, so a blank line and a length will do."""

    def __init__(self, wheel: Wheel) -> None:
        self._wheel = wheel
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but name

    def connection_lost(self, exc: Exception | None) -> None:
        """End its stream."""
        if self._transport is not None:
            self._wheel.remove(self._transport)

    def data_received(self, data: bytes) -> None:
        """Answer a request once it is whole."""
        self._buffer += data
        head, blank, body = self._buffer.partition(b"\r\n\r\n")
        if not blank or len(body) < _content_length(head):
            return
        self._buffer = b""
        assert self._transport is not None
        if b'"stream":true' in body.replace(b" ", b""):
            self._transport.write(_head(identity.answer_headers(), "text/event-stream", "Transfer-Encoding: chunked"))
            self._wheel.add(self._transport)
        else:
            self._transport.write(_whole(*head.split(b" ")[:2]))


def _whole(method: bytes, path: bytes) -> bytes:
    if method == b"POST":
        headers, body = identity.answer_headers(), answer_body()
    elif path == b"/healthz":
        headers, body = identity.healthz_headers(), identity.healthz_body().encode()
    else:
        headers, body = {}, models_body().encode()
    return _head(headers, "application/json", f"Content-Length: {len(body)}") + body


def _head(headers: Mapping[str, str], content_type: str, framing: str) -> bytes:
    lines = ["HTTP/1.1 200 OK", f"Content-Type: {content_type}", framing]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


async def _serve(port: int, events_per_s: float) -> None:
    wheel = Wheel(events_per_s)
    server = await asyncio.get_running_loop().create_server(lambda: Worker(wheel), "127.0.0.1", port, backlog=1024)
    async with server, asyncio.TaskGroup() as group:
        group.create_task(wheel.turn())


def main() -> None:
    """Serve until told to stop."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--rate", type=float, required=True, help="events per second and stream")
    options = parser.parse_args()
    uvloop.run(_serve(options.port, options.rate))


if __name__ == "__main__":
    main()
