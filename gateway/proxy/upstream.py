"""The upstream half: one HTTP/1.1 connection to a worker, by callbacks, without a task or timer per request.

The rules of this file (http.md section 4):

* A connection goes back to its pool only if the answer ended by its own framing, keep-alive held, the whole request
  was written and not one byte followed the end. In any doubt it is closed.
* Any byte on an idle connection closes it: it can only belong to somebody else's answer.
"""

from __future__ import annotations

import asyncio
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, cast

from gateway.proxy.answer import AnswerReader
from gateway.proxy.answer_head import AnswerHead
from gateway.proxy.limits import KIB, Limits

if TYPE_CHECKING:
    from gateway.proxy.pool import Pool

_KEEP_ALIVE_MARGIN_S = 1.0
"""A connection is given up this long before its worker would close it: what is under way then would be lost."""

_COPIED = 64 * KIB
"""A body up to this size is copied behind its head, for one packet; a larger one is written from where it lies."""


class Failure(StrEnum):
    """How an attempt can fail before or after its head."""

    REFUSED = "refused"
    CONNECT_TIMEOUT = "connect_timeout"
    UNREACHABLE = "unreachable"
    NO_SOCKET = "no_socket"
    """This process has no descriptor, port or memory left for a connection."""
    STALE = "stale"
    """A pooled connection closed before one byte of the answer: the worker had hung up, the request did not run."""
    RESET = "reset"
    """A fresh connection closed before one byte of the answer."""
    MALFORMED = "malformed"
    TRUNCATED = "truncated"


class Answering(Protocol):
    """Who waits for an answer: `on_head` once, `on_data` once a read after it, `on_failed` instead of an end."""

    def on_head(self, head: AnswerHead) -> None:
        """The final head is complete and sound. May abort the connection to refuse the answer."""

    def on_data(self, data: bytes, *, complete: bool) -> None:
        """All body bytes of one read, their transfer coding removed; `complete` with the last of them."""

    def on_failed(self, failure: Failure, detail: str) -> None:
        """The answer will not come, or not to its end. The connection is gone already."""


class UpstreamConnection:
    """One connection to one instance. Serves one exchange at a time; `exchange` is None while it is idle.

    An `asyncio.Protocol` by its methods, not by descent: only so can the class be compiled (ADR 9).

    Attributes:
        reused: It came from the pool, so the worker may have closed it already.
        usable_until: Monotonic second from which on an idle connection is too old to be used.
        generation: The pool's when it was dialled; see `Pool.drop_idle`.
    """

    __slots__ = (
        "_answer", "_limits", "_paused", "_pool", "exchange", "generation", "got_bytes", "keep_for_s", "reused",
        "transport", "usable_until",
    )  # fmt: skip

    def __init__(self, pool: Pool, limits: Limits) -> None:
        self._pool = pool
        self._limits = limits
        self._answer: AnswerReader | None = None
        self._paused = False
        self.exchange: Answering | None = None
        self.transport: asyncio.Transport | None = None
        self.generation = pool.generation
        self.keep_for_s = limits.upstream_keepalive_s
        self.reused = self.got_bytes = False
        self.usable_until = 0.0

    # the exchange's side ------------------------------------------------------------------------------------------

    def send(self, exchange: Answering, head: bytes, body: bytes, *, head_only: bool) -> None:
        """Write a whole request and read its answer for `exchange`. `head_only`: it was a HEAD request."""
        assert self.transport is not None, "a connection is handed out once it is connected"
        self._answer = AnswerReader(self._limits, head_only=head_only)
        self.got_bytes = False
        self.exchange = exchange
        if len(body) > _COPIED:
            self.transport.writelines((head, body))
        else:
            self.transport.write(head + body)

    def pause(self) -> None:
        """Stop reading: the client is slower than the worker."""
        # An idle connection is never paused: whoever took it next would wait for ever, and its end would go unseen.
        if self.exchange is not None and self._is_open():
            self._paused = True
            self.transport.pause_reading()  # type: ignore[union-attr]

    def resume(self) -> None:
        """Read on."""
        if self._paused and self._is_open():
            self._paused = False
            self.transport.resume_reading()  # type: ignore[union-attr]

    def abort(self) -> None:
        """Close at once and forget the exchange: cut, cancelled, refused or timed out."""
        self.exchange = None
        self._answer = None
        self._pool.discard(self)
        if self.transport is not None:
            self.transport.abort()

    # asyncio's side -----------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = cast(asyncio.Transport, transport)  # uvloop's are no subclass of it
        self._pool.opened(self)

    def data_received(self, data: bytes) -> None:
        """Read on, and hand over what one read brought; bytes that belong to no open answer close the connection.

        The exchange is called after the parser returned, so that it may do anything.
        """
        exchange, answer = self.exchange, self._answer
        if exchange is None or answer is None:
            self.abort()
            return
        self.got_bytes = True
        had_head = answer.head is not None
        answer.feed(data)
        if answer.head is None:
            if answer.broken:
                self._fail(Failure.MALFORMED, answer.broken)
            return
        if not had_head:
            exchange.on_head(answer.head)
            if self.exchange is not exchange:
                return
        if answer.complete:
            self._release(answer)
            exchange.on_data(answer.take_body(), complete=True)
            return
        exchange.on_data(answer.take_body(), complete=False)
        if answer.broken and self.exchange is exchange:
            self._fail(Failure.TRUNCATED, answer.broken)

    def pause_writing(self) -> None:
        """The worker takes the request slowly: all of it is in memory already, so nothing has to wait."""

    def resume_writing(self) -> None:
        """The worker took what had gathered."""

    def eof_received(self) -> bool:
        """The worker will send no more: let the transport close."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the exchange, if one was open."""
        self._pool.discard(self)
        if self.exchange is not None:
            self._fail(*self._how_lost())

    # the end of an answer -----------------------------------------------------------------------------------------

    def _release(self, answer: AnswerReader) -> None:
        """Let go of a connection whose answer is complete: back to the pool, or closed where any doubt is left."""
        self.exchange = None
        self._answer = None
        keep_s = self._limits.upstream_keepalive_s
        said_s = answer.kept_s()
        if said_s is not None:
            keep_s = min(keep_s, said_s - _KEEP_ALIVE_MARGIN_S)
        if keep_s > 0 and answer.is_reusable and self._is_quiet():
            self.resume()
            self.keep_for_s = keep_s
            self._pool.give_back(self)
        else:
            self.abort()

    def _is_quiet(self) -> bool:
        """Open, and the whole request was written: a worker may answer before it took the body."""
        return self._is_open() and self.transport.get_write_buffer_size() == 0  # type: ignore[union-attr]

    def _is_open(self) -> bool:
        return self.transport is not None and not self.transport.is_closing()

    def _how_lost(self) -> tuple[Failure, str]:
        if self._answer is not None and self._answer.head is not None:
            return Failure.TRUNCATED, "the worker closed the connection in the middle of its answer"
        if self.got_bytes:
            return Failure.MALFORMED, "the worker closed the connection in the middle of its answer's head"
        if self.reused:
            return Failure.STALE, "the worker had closed the kept connection"
        return Failure.RESET, "the worker closed the connection before it answered"

    def _fail(self, failure: Failure, detail: str) -> None:
        exchange = self.exchange
        self.abort()
        if exchange is not None:
            exchange.on_failed(failure, detail)
