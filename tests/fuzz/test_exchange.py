"""Clients come, pipeline, stall and leave; workers answer, lie, break off: in any order, nothing mixes or leaks.

The real protocol, exchanges, pools and parsers run on transports without sockets.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gateway.proxy.protocol import DataProtocol
from gateway.proxy.upstream import UpstreamConnection
from tests.support.data_plane import Gateway, Wire
from tests.support.fleets import fleet, served, worker
from tests.support.stub_worker import digests_of

TRUE, FALSE = digests_of("a"), digests_of("b")
EVIL = b"answered by another identity"
ASKED = re.compile(rb" /(<\d+>) HTTP/1\.1\r\n")


class Ordered(set[Any]):
    """A set that is walked in the order of joining."""

    def __init__(self) -> None:
        super().__init__()
        self._order: dict[Any, None] = {}

    def add(self, element: Any) -> None:
        super().add(element)
        self._order[element] = None

    def discard(self, element: Any) -> None:
        super().discard(element)
        self._order.pop(element, None)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._order)


class Line:
    """A worker's side of one connection."""

    def __init__(self, connection: UpstreamConnection, wire: Wire, port: int) -> None:
        self.connection = connection
        self.wire = wire
        self.port = port
        self.answered = 0
        self.unsent = b""

    @property
    def token(self) -> bytes | None:
        """What the request that waits for an answer asks for."""
        waiting = self.wire.written[self.answered :]
        return waiting.split(b" ")[1].removeprefix(b"/") if waiting else None

    def begin(self, answer: bytes) -> None:
        self.answered = len(self.wire.written)
        self.unsent = answer

    def send(self, size: int) -> None:
        """Let so many bytes of the answer arrive."""
        piece, self.unsent = self.unsent[:size], self.unsent[size:]
        if piece and not self.wire.is_closing():
            self.connection.data_received(piece)


def soon(loop: asyncio.AbstractEventLoop, call: Callable[..., None], *args: Any) -> Callable[[], None]:
    """As asyncio does: who ends a connection hears of its end a little later."""

    def later() -> None:
        loop.call_soon(call, *args)

    return later


class Loop(asyncio.SelectorEventLoop):
    """Dials into nowhere: a connection stands at once, or is refused."""

    def __init__(self) -> None:
        super().__init__()
        self.refusals = 0
        self.lines: list[Line] = []
        self.faults: list[dict[str, Any]] = []
        self.set_exception_handler(lambda _, fault: self.faults.append(fault))

    async def create_connection(self, protocol_factory: Any, host: Any = None, port: Any = None, **_: Any) -> Any:
        del host
        await asyncio.sleep(0)
        if self.refusals:
            self.refusals -= 1
            raise ConnectionRefusedError(111, "refused")
        connection, wire = protocol_factory(), Wire()
        wire.after_end = soon(self, connection.connection_lost, None)
        connection.connection_made(wire)
        self.lines.append(Line(connection, wire, port))
        return wire, connection


class Client:
    """One client connection and what it asked for, in order."""

    def __init__(self, protocol: DataProtocol, wire: Wire) -> None:
        self.protocol = protocol
        self.wire = wire
        self.tokens: list[bytes] = []
        self.unsent = b""
        self.is_gone = False
        self.checked = 0


def answer(token: bytes, kind: str) -> bytes:
    """A whole answer of a worker."""
    digests, body = (FALSE, EVIL) if kind == "lie" else (TRUE, token)
    status = {"busy": 503, "error": 500}.get(kind, 200)
    lines = [
        f"HTTP/1.1 {status} X", f"X-Inference-DNA: {digests.dna()}", f"X-Inference-Digest: sha256:{digests.runtime}",
        "X-Model-Id: m", "X-Model-Version: v1.0.0", "Retry-After: 1",
    ]  # fmt: skip
    if kind == "close":
        lines.append("Connection: close")
    if kind == "stream":
        lines.append("Content-Type: text/event-stream")
        body = b"data: " + token + b"\n\n"
    if kind == "unframed":
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body
    if kind in ("chunked", "stream"):
        chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body)
        return "\r\n".join([*lines, "Transfer-Encoding: chunked"]).encode() + b"\r\n\r\n" + chunks + b"0\r\n\r\n"
    whole = "\r\n".join([*lines, f"Content-Length: {len(body)}"]).encode() + b"\r\n\r\n" + body
    interim = b"HTTP/1.1 103 X\r\n\r\n" if kind == "interim" else b""
    return interim + whole + (whole if kind == "twice" else b"")


KINDS = st.sampled_from(
    ["plain", "plain", "chunked", "stream", "close", "interim", "lie", "unframed", "twice", "busy", "error"]
)
NUMBER = st.integers(0, 2**16)
SIZE = st.sampled_from([1, 30, 230, 260, 262, 264, 266, 280, 1000, 1000])
"""Bytes of an answer that arrive at once: often a head and a little more."""


class Traffic(RuleBasedStateMachine):
    """Two instances with two places each; a queue of four behind them."""

    @initialize()
    def begin(self) -> None:
        self.loop = Loop()
        accepted = [{"dna": TRUE.dna(), "digest": f"sha256:{TRUE.runtime}"}]
        instances = [worker("v1.0.0", name, model_id="m", dna=TRUE.dna(), max_in_flight=2) for name in ("i-1", "i-2")]
        snapshot = fleet(served("v1.0.0", *instances, model_id="m", dna=accepted), model_id="m")
        self.gateway = Gateway(snapshot, admission_queue_floor=4, max_connections=1000)
        # A set's order is chance, and a story that cannot be told again is no use.
        self.gateway.plane.exchanges = Ordered()
        self.gateway.plane.connections = Ordered()
        self.clients: list[Client] = []
        self.made = 0

    def act(self, action: Callable[[], object]) -> None:
        """Do something inside the loop, and let what it began go on."""

        async def step() -> None:
            action()
            for _ in range(6):
                await asyncio.sleep(0)

        self.loop.run_until_complete(step())

    # clients ------------------------------------------------------------------------------------------------------

    @rule()
    def a_client_comes(self) -> None:
        self.act(self.connect)

    @rule(count=st.integers(3, 12))
    def many_come_and_ask_at_once(self, count: int) -> None:
        def burst() -> None:
            for _ in range(count):
                client = self.connect()
                client.tokens.append(b"<%d>" % self.made)
                self.made += 1
                client.protocol.data_received(b"GET /%b HTTP/1.1\r\nHost: a\r\n\r\n" % client.tokens[-1])

        self.act(burst)

    def connect(self) -> Client:
        client = Client(*self.gateway.connect())
        client.wire.after_end = soon(self.loop, self.lost, client)
        self.clients.append(client)
        return client

    def lost(self, client: Client) -> None:
        if not client.is_gone:
            client.is_gone = True
            client.protocol.connection_lost(None)

    def present(self) -> list[Client]:
        return [client for client in self.clients if not client.is_gone and not client.wire.is_closing()]

    @precondition(lambda self: bool(self.present()))
    @rule(
        number=NUMBER,
        size=st.integers(1, 200),
        method=st.sampled_from([b"GET", b"POST"]),
        version=st.sampled_from(
            [b"1.1", b"1.1", b"1.1\r\nConnection: close", b"1.0", b"1.0\r\nConnection: keep-alive"]
        ),
    )
    def a_client_sends(self, number: int, size: int, method: bytes, version: bytes) -> None:
        client = self.present()[number % len(self.present())]
        if not client.unsent:
            token = b"<%d>" % self.made
            self.made += 1
            client.tokens.append(token)
            body = b"" if method == b"GET" else b"body of " + token
            length = b"Content-Length: %d\r\n" % len(body) if body else b""
            client.unsent = b"%b /%b HTTP/%b\r\nHost: a\r\n%b\r\n%b" % (method, token, version, length, body)
        piece, client.unsent = client.unsent[:size], client.unsent[size:]
        self.act(lambda: client.protocol.data_received(piece))

    @precondition(lambda self: bool(self.present()))
    @rule(number=NUMBER)
    def a_client_leaves(self, number: int) -> None:
        client = self.present()[number % len(self.present())]
        self.act(lambda: self.lost(client))

    @precondition(lambda self: bool(self.present()))
    @rule(number=NUMBER, full=st.booleans())
    def a_client_stalls_or_reads_on(self, number: int, full: bool) -> None:
        client = self.present()[number % len(self.present())]
        client.wire.unsent = 100_000 if full else 0
        self.act(client.protocol.pause_writing if full else client.protocol.resume_writing)

    # workers ------------------------------------------------------------------------------------------------------

    def lines(self, *, waiting: bool | None = None) -> list[Line]:
        """Open connections to workers; `waiting`: with a request that has no answer yet, or without one."""
        found = [line for line in self.loop.lines if not line.wire.is_closing()]
        return [line for line in found if waiting is None or (line.token is not None) is waiting]

    @precondition(lambda self: bool(self.lines(waiting=True)))
    @rule(number=NUMBER, kind=KINDS, size=SIZE)
    def a_worker_answers(self, number: int, kind: str, size: int) -> None:
        line = self.lines(waiting=True)[number % len(self.lines(waiting=True))]
        token = line.token
        assert token is not None
        line.begin(answer(token, kind))
        self.act(lambda: line.send(size))

    @precondition(lambda self: any(line.unsent and not line.wire.is_paused for line in self.lines()))
    @rule(number=NUMBER, size=SIZE)
    def a_worker_goes_on(self, number: int, size: int) -> None:
        lines = [line for line in self.lines() if line.unsent and not line.wire.is_paused]
        self.act(lambda: lines[number % len(lines)].send(size))

    @precondition(lambda self: bool(self.lines()))
    @rule(number=NUMBER)
    def a_worker_breaks_off(self, number: int) -> None:
        line = self.lines()[number % len(self.lines())]

        def lose() -> None:
            line.wire.is_aborted = True
            line.connection.connection_lost(ConnectionResetError())

        self.act(lose)

    @precondition(lambda self: bool(self.lines()))
    @rule(number=NUMBER, noise=st.sampled_from([b"x", b"\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"]))
    def a_worker_speaks_unasked(self, number: int, noise: bytes) -> None:
        idle = [line for line in self.lines(waiting=False) if not line.unsent and line.connection.exchange is None]
        if idle:
            self.act(lambda: idle[number % len(idle)].connection.data_received(noise))

    @rule(count=st.integers(1, 2))
    def dials_are_refused(self, count: int) -> None:
        self.loop.refusals = count

    @rule(seconds=st.sampled_from([0.5, 1.0, 5.0, 40.0, 400.0]))
    def time_passes(self, seconds: float) -> None:
        def sweep() -> None:
            self.gateway.now += seconds
            self.gateway.sweep()

        self.act(sweep)

    # what always holds --------------------------------------------------------------------------------------------

    @invariant()
    def answers_are_in_order_and_each_is_its_own(self) -> None:
        for client in getattr(self, "clients", []):
            if len(client.wire.written) == client.checked:
                continue
            client.checked = len(client.wire.written)
            assert EVIL not in client.wire.written
            assert b"evil" not in client.wire.written
            responses = client.wire.responses
            assert len(responses) <= len(client.tokens)
            for response, token in zip(responses, client.tokens, strict=False):
                if response.header("x-inference-dna") is None:
                    assert response.header("content-type") == "application/problem+json"
                    assert response.complete
                else:
                    event = b"data: " + token + b"\n\n"
                    said = response.body.partition(b"event: error")[0]
                    assert said in (token, event) if response.complete else (token + event).find(said) >= 0
                    assert response.complete or response is responses[-1]

    @invariant()
    def places_are_counted(self) -> None:
        if not hasattr(self, "gateway"):
            return
        plane = self.gateway.plane
        for instance in plane.snapshot().models["m"].ranked[0].instances:
            assert 0 <= plane.in_flight(instance) <= 2
        busy = [line for line in self.lines() if line.connection.exchange is not None]
        assert len(busy) <= len(plane.exchanges)
        assert plane.buffered >= 0

    @invariant()
    def no_request_is_sent_more_often_than_allowed(self) -> None:
        if not hasattr(self, "gateway"):
            return
        sent = Counter(token for line in self.loop.lines for token in ASKED.findall(line.wire.written))
        # Twice to other instances, and once more for each kept connection that turned out stale.
        assert max(sent.values(), default=0) <= 4

    def teardown(self) -> None:
        if not hasattr(self, "gateway"):
            return
        for client in self.clients:
            self.act(lambda client=client: self.lost(client))  # type: ignore[misc]
        self.time_passes(5.0)
        plane = self.gateway.plane
        assert self.loop.faults == []
        assert not plane.exchanges
        assert not plane.connections
        assert plane.buffered == 0
        assert plane.admission.versions() == []
        assert [plane.in_flight(i) for i in plane.snapshot().models["m"].ranked[0].instances] == [0, 0]
        assert not [line for line in self.lines() if line.connection.exchange is not None]
        assert self.gateway.metrics.of("m", "v1.0.0").in_flight == 0
        self.loop.close()


TestTraffic = Traffic.TestCase
TestTraffic.settings = settings(max_examples=60, stateful_step_count=80, deadline=None)
