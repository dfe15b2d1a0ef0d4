"""One client connection that is kept over many requests, in asyncio, and that tells exactly what came back."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from tests.support.load import Outcome
from tests.support.raw import Response, parse_responses


class KeptConnection:
    """Asks on one connection, one request after another; nothing is repeated and nothing reconnects by itself."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def open(cls, port: int, *, source: str = "127.0.0.1") -> KeptConnection:
        """Connect from a loopback address; raises ConnectionError where nobody listens."""
        return cls(*await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0)))

    async def ask(self, message: bytes, *, timeout_s: float = 30.0) -> Outcome:
        """Send one request and read its answer.

        An answer that broke off has a response that is not complete; none of which a byte came has no response.
        """
        self.writer.write(message)
        return await self.read(timeout_s=timeout_s)

    async def read(self, *, timeout_s: float = 30.0) -> Outcome:
        """Read the next answer."""
        data = bytearray()
        try:
            async with asyncio.timeout(timeout_s):
                await self._read_into(data)
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            if not data:
                return Outcome(None, repr(error))
            return Outcome(_last(data), repr(error))
        return Outcome(_last(data))

    async def _read_into(self, data: bytearray) -> None:
        """Read one message and not a byte more; what came of it is in `data` whatever happens."""
        head = await self._take(self.reader.readuntil(b"\r\n\r\n"), data)
        response = parse_responses(head, closed=False)[0]
        if response.header("transfer-encoding") == "chunked":
            size = -1
            while size:
                size = int(await self._take(self.reader.readuntil(b"\r\n"), data), 16)
                await self._take(self.reader.readexactly(size + 2), data)
        elif (length := response.header("content-length")) is not None:
            await self._take(self.reader.readexactly(int(length)), data)

    async def _take(self, reading: Coroutine[Any, Any, bytes], data: bytearray) -> bytes:
        try:
            piece: bytes = await reading
        except asyncio.IncompleteReadError as error:
            data += error.partial
            raise
        data += piece
        return piece

    async def ended(self, *, timeout_s: float = 10.0) -> bytes:
        """Read until the peer closes; gives what came, raises ConnectionError where it was reset."""
        async with asyncio.timeout(timeout_s):
            return await self.reader.read()

    def close(self) -> None:
        """Leave."""
        self.writer.close()


def _last(data: bytearray) -> Response:
    return parse_responses(bytes(data), closed=False)[-1]
