"""The server half: the HTTP protocol class of the data port, given to uvicorn as its `http` class.

uvicorn owns the sockets; from the first byte on a connection is ours. A request becomes an `Exchange` as soon as it is
complete: no task, no ASGI message, no timer (a sweep of all connections enforces the deadlines).

One request at a time, answered in order. While one is in flight further bytes are kept raw, within a bound, and
reading goes on, because a paused reader never sees its client leave (http.md section 3.6).
"""

from __future__ import annotations

import asyncio
from typing import Any, Final, cast

from gateway.proxy.decide import decide
from gateway.proxy.early import look_ahead
from gateway.proxy.exchange import Exchange, answer_own
from gateway.proxy.own import Known, OwnAnswer, from_problem
from gateway.proxy.peers import UNKNOWN
from gateway.proxy.plane import DataPlane
from gateway.proxy.problem import Family, Problem, Refused, draining
from gateway.proxy.reader import RequestReader
from gateway.proxy.request import Request, own_id
from gateway.proxy.sockets import reset_on_close, untaken

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_AT_ONCE: Final = 32
"""Pipelined requests that are answered before other connections have their turn."""


class DataProtocol:
    """One client connection.

    An `asyncio.Protocol` by its methods, not by descent: only so can the class be compiled (ADR 9).
    """

    def __init__(self, plane: DataPlane, *, config: Any, server_state: Any, app_state: Any, _loop: Any = None) -> None:
        # uvicorn's constructor signature (its protocol classes are interchangeable); `plane` is bound ahead.
        del config, app_state, _loop
        self._plane = plane
        self._siblings: set[DataProtocol] = server_state.connections
        self._reader = RequestReader(plane.limits)
        self._transport: asyncio.Transport | None = None
        self._exchange: Exchange | None = None
        self._pending = b""
        self._held = 0
        self._pumping = self._overflowed = self._looked = self._full = False
        self._unsent = 0
        self._unsent_since = 0.0
        self._lingering_since: float | None = None
        self._lingered = 0
        self._made_at = self._quiet_since = self._head_since = 0.0
        self._served = False
        self._keepalive_s = plane.limits.client_keepalive_s * (0.9 + 0.2 * plane.draw())
        self.peer = UNKNOWN
        self.is_trusted = False

    # asyncio's side -----------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take a connection, unless there are too many."""
        plane = self._plane
        if len(plane.connections) >= plane.limits.max_connections:
            plane.metrics.refused("connections")
            cast(asyncio.Transport, transport).abort()
            return
        address = transport.get_extra_info("peername")
        peer = str(address[0]) if isinstance(address, tuple) else UNKNOWN
        if not plane.peers.admit(peer):
            plane.metrics.refused("connections")
            cast(asyncio.Transport, transport).abort()
            return
        self.peer, self.is_trusted = peer, plane.peers.is_trusted(peer)
        self._transport = transport = cast(asyncio.Transport, transport)  # uvloop's are no subclass of it
        transport.set_write_buffer_limits(high=plane.limits.stream_buffer_high, low=plane.limits.stream_buffer_low)
        self._made_at = self._quiet_since = plane.now()
        plane.connections.add(self)
        self._siblings.add(self)

    def data_received(self, data: bytes) -> None:
        """Read on, or keep the bytes for later."""
        if self._lingering_since is not None:
            self._discard(data)
            return
        self._pending = self._pending + data if self._pending else data
        if self._exchange is None and not self._full:
            self._pump()
        elif len(self._pending) > self._plane.limits.max_pipelined_bytes:
            self._overflowed = True
            self._pause_reading()

    def eof_received(self) -> bool:
        """A half-close cannot be told from a close without writing: the client is gone."""
        if self._exchange is not None and self._transport is not None:
            # A close would wait until a full buffer is taken, and a worker would go on for nobody meanwhile.
            self._transport.abort()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop whatever was done for this client."""
        if self in self._plane.connections:
            self._plane.connections.discard(self)
            self._plane.peers.leave(self.peer)
        self._siblings.discard(self)
        self._pending = b""
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.client_left()
        elif self._reader.body_bytes:
            self._plane.metrics.client_left("body")
        self._hold(0)

    def pause_writing(self) -> None:
        """The client's buffer is full: nothing more for it is read from a worker, no further request begins."""
        self._full = True
        if self._exchange is not None:
            self._exchange.pause()

    def resume_writing(self) -> None:
        """The client's buffer has room again."""
        self._full = False
        if self._exchange is not None:
            self._exchange.resume()
        elif self._transport is not None and not self._transport.is_closing():
            self._pump()

    @property
    def is_reading(self) -> bool:
        """A request has begun to arrive."""
        return self._exchange is None and not self._reader.idle and self._lingering_since is None

    @property
    def is_owed(self) -> bool:
        """An answer is complete, but its client has not taken all of it from us."""
        return self._exchange is None and self._transport is not None and self._transport.get_write_buffer_size() > 0

    def refuse_for_shutdown(self) -> None:
        """The drain deadline is over: a request whose body is still coming is answered, one without a head is not."""
        if self._reader.in_body:
            self._refuse(Refused(draining(), close=True))

    def shutdown(self) -> None:
        """Close an idle connection now; a busy one ends with its answer, which says so."""
        if self._exchange is None and not self.is_reading:
            self.close()

    # reading ------------------------------------------------------------------------------------------------------

    def _pump(self) -> None:
        """Read requests from the bytes at hand, one after another, for as long as each is answered at once."""
        if self._pumping:
            return
        self._pumping = True
        read = 0
        try:
            while self._exchange is None and self._pending and self._lingering_since is None and not self._full:
                if read == _AT_ONCE:
                    asyncio.get_running_loop().call_soon(self._pump)
                    return
                read += 1
                data, self._pending = self._pending, b""
                self._read(data)
        finally:
            self._pumping = False

    def _read(self, data: bytes) -> None:
        reader, now = self._reader, self._plane.now()
        if reader.idle:
            self._head_since = now
            reader.max_body = self._plane.most_max_body
        self._quiet_since = now
        try:
            request = reader.feed(data)
            self._hold(len(request.body) if request is not None else reader.body_bytes)
            if request is None:
                if self._overflowed:
                    self._linger()
                elif reader.in_body:
                    self._look_ahead()
                return
        except Refused as refused:
            self._refuse(refused)
            return
        self._pending = reader.rest + self._pending
        reader.rest = b""
        if reader.trailers:
            self._plane.metrics.trailers_dropped(reader.trailers)
            reader.trailers = 0
        if (self._overflowed and not self._pending) or now - self._made_at > self._plane.limits.client_max_age_s:
            request.keep_alive = False
        self._served = True
        self._looked = False
        self._serve(request, now)

    def _serve(self, request: Request, now: float) -> None:
        """Decide a complete request: an exchange takes it, or the answer is ours."""
        plane = self._plane
        request_id = own_id(request) or plane.new_request_id()
        decision = decide(
            request,
            plane.snapshot(),
            request_id=request_id,
            ready=plane.ready(),
            max_body=plane.limits.max_body,
            now=now,
            draw=plane.draw(),
        )
        if isinstance(decision, OwnAnswer):
            answer_own(plane, self, request, decision, arrived_at=now)
            return
        self._exchange = exchange = Exchange(plane, self, request, decision, request_id=request_id, arrived_at=now)
        exchange.start()

    def _hold(self, size: int) -> None:
        """Count the bytes of this connection's body among all that are held.

        Raises:
            Refused: There are too many.
        """
        plane = self._plane
        plane.buffered += size - self._held
        grew, self._held = size > self._held, size
        if grew and plane.buffered > plane.limits.max_buffered:
            problem = Problem(429, "saturated", "Too many request bodies are held at once.", retry_after_s=1)
            raise Refused(problem, close=True)

    def _look_ahead(self) -> None:
        """Once a request: refuse what its head alone refuses before more of the body comes, or ask for the body.

        `100 Continue` is written only where no byte of the body has come.

        Raises:
            Refused: Whatever the body says.
        """
        reader, plane = self._reader, self._plane
        if self._looked or reader.head is None:
            return
        self._looked = True
        is_awaited = reader.expects_continue and not reader.body_bytes
        if not is_awaited and not reader.is_chunked and reader.declared <= plane.least_max_body:
            return
        seen = look_ahead(plane, reader.head, reader.declared)
        if isinstance(seen, Problem):
            raise Refused(seen, close=True)
        reader.limit_body(seen)
        if is_awaited:
            self.write(_CONTINUE)

    def _refuse(self, refused: Refused) -> None:
        """Answer a request that was not read to its end; nothing after it is read as a request."""
        problem, plane = refused.problem, self._plane
        plane.metrics.refused(problem.code)
        method, target = self._reader.begun
        request = Request(method, target, "1.1", [], keep_alive=False)
        known = Known(plane.new_request_id(), plane.snapshot().generation)
        answer = from_problem(problem, known, family=Family.PLAIN, path=request.path)
        answer_own(plane, self, request, answer, arrived_at=plane.now())

    # the exchange's side ------------------------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        """Write bytes to the client."""
        if self._transport is not None:
            self._transport.write(data)

    def finished(self, *, keep_alive: bool) -> None:
        """The answer is complete: go on with the next request, or end the connection."""
        self._exchange = None
        self._hold(0)
        self._quiet_since = self._plane.now()
        if not keep_alive or self._plane.draining or (self._overflowed and not self._pending):
            self._linger()
        elif self._pending:
            self._pump()

    def cut(self, *, reset: bool) -> None:
        """End the connection in the middle of an answer, in a way that no client takes for its end."""
        exchange, self._exchange = self._exchange, None
        transport = self._transport
        if transport is None:
            return
        if reset:
            reset_on_close(transport)
            transport.abort()
        else:
            transport.close()
        if exchange is not None:
            exchange.client_left()

    # the end of a connection --------------------------------------------------------------------------------------

    def check(self, now: float) -> None:
        """Enforce this connection's deadlines; called twice a second."""
        limits, transport = self._plane.limits, self._transport
        if transport is None or self._is_stalled(transport, now) or self._exchange is not None:
            return
        if self._lingering_since is not None:
            if self._unsent:
                self._lingering_since = now
            elif now - self._lingering_since > limits.lingering_close_s:
                transport.abort()
        elif self._reader.in_body:
            self._check_body(now)
        elif self._reader.in_head or not self._served:
            since = self._head_since if self._reader.in_head else self._made_at
            if now - since > limits.client_header_timeout_s:
                transport.abort()
        elif now - self._quiet_since > self._keepalive_s or self._plane.draining:
            self.close()

    def _is_stalled(self, transport: asyncio.Transport, now: float) -> bool:
        """Cut a client that takes no byte of what waits for it; one that is only slow gets all of it."""
        unsent = untaken(transport)
        if not unsent or unsent != self._unsent:
            self._unsent, self._unsent_since = unsent, now
            return False
        if now - self._unsent_since <= self._plane.limits.client_write_stall_s:
            return False
        self.cut(reset=True)
        return True

    def _check_body(self, now: float) -> None:
        limits = self._plane.limits
        spent = now - self._head_since
        too_slow = spent > 10.0 and self._reader.body_bytes < spent * limits.client_body_least_rate
        if too_slow or now - self._quiet_since > limits.client_body_idle_s:
            problem = Problem(400, "bad_request", "The body did not come in time; send it faster or smaller.")
            self._refuse(Refused(problem, close=True))

    def close(self) -> None:
        """Close once everything written has left."""
        if self._transport is not None:
            self._transport.close()

    def _linger(self) -> None:
        """End our side and discard what still comes, so that the client can read the answer (RFC 9112 section 9.6)."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        if not transport.can_write_eof():
            transport.close()
            return
        self._pending = b""
        self._lingering_since = self._plane.now()
        transport.write_eof()
        if self._overflowed:
            transport.resume_reading()

    def _discard(self, data: bytes) -> None:
        self._lingered += len(data)
        if self._lingered > self._plane.limits.lingering_close_bytes and self._transport is not None:
            self._transport.abort()

    def _pause_reading(self) -> None:
        if self._transport is not None and self._transport.is_reading():
            self._transport.pause_reading()
