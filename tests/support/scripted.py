"""A worker that does exactly what a script says, in the test's own event loop; and who waits for its answers."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

from gateway.proxy.answer_head import AnswerHead
from gateway.proxy.upstream import Failure, UpstreamConnection


class Line:
    """The worker's side of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        self.reader = reader
        self.writer = writer
        self.number = number
        """The how-manieth connection to this worker it is, from 0."""

    async def request(self) -> bytes:
        """Read one request whole; gives its head."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        for line in head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                await self.reader.readexactly(int(line.partition(b":")[2]))
        return head

    async def write(self, *pieces: bytes, gap_s: float = 0.005) -> None:
        """Write pieces, each a segment of its own."""
        for number, piece in enumerate(pieces):
            if number:
                await asyncio.sleep(gap_s)
            self.writer.write(piece)
            await self.writer.drain()

    async def closed(self) -> bool:
        """Wait until the peer closes; gives True."""
        with contextlib.suppress(ConnectionError):
            while await self.reader.read(65_536):
                pass
        return True

    def fin(self) -> None:
        """Close as a process that ends in peace."""
        self.writer.close()

    def reset(self) -> None:
        """Close as a process that is killed with unread bytes."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Script = Callable[[Line], Awaitable[None]]


@contextlib.asynccontextmanager
async def scripted(script: Script) -> AsyncIterator[int]:
    """Run a worker; gives its port. A script that ends leaves its connection open."""
    lines: list[Line] = []
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = Line(reader, writer, len(lines))
        lines.append(line)
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await script(line)

    server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=2**24)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for line in lines:
            line.writer.transport.abort()
        await asyncio.sleep(0)


@dataclass(eq=False)
class Waiting:
    """Who waits for one answer, and what came of it."""

    head: AnswerHead | None = None
    body: bytes = b""
    reads: int = 0
    complete: bool = False
    failure: Failure | None = None
    detail: str = ""
    calls: list[str] = field(default_factory=list)
    refuse: UpstreamConnection | None = None
    """Abort this connection as soon as the head comes."""
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def on_head(self, head: AnswerHead) -> None:
        self.calls.append("head")
        self.head = head
        if self.refuse is not None:
            self.refuse.abort()

    def on_data(self, data: bytes, *, complete: bool) -> None:
        self.calls.append("data")
        self.body += data
        self.reads += 1
        if complete:
            self.complete = True
            self.over.set()

    def on_failed(self, failure: Failure, detail: str) -> None:
        self.calls.append("failed")
        self.failure, self.detail = failure, detail
        self.over.set()
