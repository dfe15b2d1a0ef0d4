"""A worker that takes large bodies as they come and keeps only their digests."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass

from tests.support.stub_worker import Seen, StubWorker, Turn


async def answer_digest(turn: Turn) -> None:
    """Answer with the digest of what came."""
    body = turn.seen.body
    await turn.write(turn.worker.head(200, "text/plain", framing=f"Content-Length: {len(body)}") + body)


@dataclass
class DigestingWorker(StubWorker):
    """Reads a body in pieces, after each of which it may rest; `seen` holds the hex digest in the body's place."""

    rest_s: float = 0.0

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Turn | None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        seen = Seen(head, b"")
        left, digest = int(seen.header("content-length") or 0), hashlib.sha256()
        while left:
            piece = await reader.read(min(left, 65_536))
            if not piece:
                return None
            digest.update(piece)
            left -= len(piece)
            if self.rest_s:
                await asyncio.sleep(self.rest_s)
        seen.body = digest.hexdigest().encode()
        return Turn(self, seen, reader, writer)
