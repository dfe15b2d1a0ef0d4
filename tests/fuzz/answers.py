"""What must hold of any bytes a worker may send."""

from __future__ import annotations

import asyncio
import contextlib
import random
from dataclasses import dataclass
from typing import Any

import httptools

from gateway.proxy.answer import AnswerReader
from gateway.proxy.expiry import Expiry
from gateway.proxy.limits import Limits
from gateway.proxy.pool import Address, Pool
from gateway.proxy.upstream import Failure, UpstreamConnection
from tests.fuzz.requests import split
from tests.support.scripted import Waiting

LIMITS = Limits()
OK = b"HTTP/1.1 200 OK\r\n"
ANSWERS = [
    OK + b"Content-Type: text/plain\r\nContent-Length: 11\r\nX-Inference-DNA: a1b2c3d49f8e7d6c\r\n\r\nhello world",
    OK + b"Transfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n1\r\n!\r\n0\r\nX: y\r\n\r\n",
    OK + b"Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: x\n\n\r\n0\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 X\r\nLink: <a>\r\n\r\n" + OK + b"Content-Length: 3\r\n\r\nabc",
    b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nabc",
    b"HTTP/1.1 204 No Content\r\nKeep-Alive: timeout=5\r\n\r\n",
    b"HTTP/1.1 304 X\r\nContent-Length: 30\r\nConnection: close\r\n\r\n",
    b"HTTP/1.1 503 X\r\nRetry-After: 3\r\nContent-Length: 0\r\n\r\n" + OK + b"Content-Length: 3\r\n\r\nabc",
]  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What one answer came to."""

    status: int | None
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    complete: bool
    failure: Failure | None


def check_answers(data: bytes, dice: random.Random) -> None:
    """Read it alone in two segmentations, then behind other answers on a connection: always the same."""
    head_only = dice.random() < 0.1
    whole = read([data], head_only=head_only)
    assert read(split(data, dice), head_only=head_only) == whole, "the reading depends on how the bytes were split"
    if whole.complete and not head_only:
        assert llhttp_body(data) == whole.body, "llhttp reads another body"
    check_connection([dice.choice(ANSWERS[:6]), data, dice.choice(ANSWERS[:6]), data], dice)


def read(pieces: list[bytes], *, head_only: bool) -> Outcome:
    """Feed an answer as a connection does."""
    reader, body = AnswerReader(LIMITS, head_only=head_only), b""
    for piece in pieces:
        if reader.complete or reader.broken:
            break
        reader.feed(piece)
        body += reader.take_body()
    failure = None
    if reader.broken:
        failure = Failure.TRUNCATED if reader.head is not None else Failure.MALFORMED
    return _outcome(reader.head, body, complete=reader.complete, failure=failure)


def _outcome(head: Any, body: bytes, *, complete: bool, failure: Failure | None) -> Outcome:
    if head is None:
        return Outcome(None, (), body, complete, failure)
    return Outcome(head.status, tuple((line.name, line.value) for line in head.lines), body, complete, failure)


def llhttp_body(data: bytes) -> bytes | None:
    """The body of the first final answer as llhttp reads it; None where it never ends."""

    class Collector:
        def __init__(self) -> None:
            self.body = b""
            self.result: bytes | None = None
            self.parser = httptools.HttpResponseParser(self)

        def on_message_begin(self) -> None:
            self.body = b""

        def on_body(self, body: bytes) -> None:
            self.body += body

        def on_message_complete(self) -> None:
            if self.result is None and self.parser.get_status_code() >= 200:
                self.result = self.body

    collector = Collector()
    with contextlib.suppress(httptools.HttpParserError, httptools.HttpParserUpgrade):
        collector.parser.feed_data(data)
    return collector.result


class Wire(asyncio.Transport):
    """A transport without a socket."""

    def __init__(self) -> None:
        super().__init__()
        self.is_aborted = False

    def write(self, data: Any) -> None:
        del data

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return self.is_aborted

    def abort(self) -> None:
        self.is_aborted = True

    def resume_reading(self) -> None:
        """Nothing was paused."""


def check_connection(answers: list[bytes], dice: random.Random) -> None:
    """Answers on one connection, as long as it is kept: each reads as it does alone, whatever came before it."""
    pool = Pool(Address("", 0), limits=LIMITS, loop=asyncio.new_event_loop(), now=lambda: 0.0, expiry=Expiry())
    try:
        connection = UpstreamConnection(pool, LIMITS)
        connection.connection_made(Wire())
        for answer in answers:
            if not _check_next(pool, connection, answer, dice):
                return
    finally:
        pool._loop.close()


def _check_next(pool: Pool, connection: UpstreamConnection, answer: bytes, dice: random.Random) -> bool:
    """Send a request and feed its answer; says whether the connection may be used again."""
    waiting = Waiting()
    connection.send(waiting, b"", b"", head_only=False)
    for piece in split(answer, dice):
        if piece and connection.transport is not None and not connection.transport.is_closing():
            connection.data_received(piece)
    ours = _outcome(waiting.head, waiting.body, complete=waiting.complete, failure=waiting.failure)
    assert ours == read([answer], head_only=False), "an answer reads differently behind others"
    if pool.idle_count:
        assert waiting.complete
        assert pool.take() is connection
        return True
    connection.abort()
    assert (pool.open_count, pool.idle_count) == (0, 0)
    return False
