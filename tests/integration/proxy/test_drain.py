"""Twenty gateways are told to stop under load: what had begun is answered, readiness goes first, the end is 0."""

from __future__ import annotations

import asyncio
import hashlib
import random
import signal
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.at_rest import in_flight
from tests.support.gateway_process import GatewayProcess, running, write_documents
from tests.support.kept import KeptConnection
from tests.support.load import Outcome
from tests.support.raw import parse_responses, request
from tests.support.stub_worker import StubWorker, Turn, answer_json, contract_for

UNARY, STREAMS, UPLOADS, IDLE = 24, 8, 4, 10
EVENTS = 8
ACCEPTS_S = 1.0
"""In every other round the gateway goes on accepting so long, as it does without a preStop sleep."""


@dataclass(frozen=True)
class Ended:
    """One request: what came of it, and when the client had it all."""

    token: str
    outcome: Outcome
    expected: bytes
    sent_at: float
    ended_at: float

    @property
    def is_whole(self) -> bool:
        response = self.outcome.response
        return response is not None and response.complete and (response.status, response.body) == (200, self.expected)

    @property
    def says_close(self) -> bool:
        return self.outcome.response is not None and self.outcome.response.header("connection") == "close"


@dataclass
class Round:
    """What came of one gateway that was told to stop."""

    ended: list[Ended] = field(default_factory=list)
    idle: list[str] = field(default_factory=list)
    readiness: list[tuple[float, int]] = field(default_factory=list)
    """When the admin port was asked, and what it said; 0 where nobody listened any more."""
    refused_at: float | None = None
    told_at: float = 0.0
    took_s: float = 0.0
    status: int | None = None
    begun: set[str] = field(default_factory=set)
    """Tokens of requests that a worker or the gateway's own log knows of."""
    log: str = ""

    @property
    def unready_at(self) -> float:
        return min(at for at, status in self.readiness if status == 503)


async def works(turn: Turn) -> None:
    """Take a moment for everything, and give back what was asked."""
    dice = random.Random(turn.seen.body)
    token, head = turn.seen.header("x-request-id") or b"", turn.worker.head
    if turn.seen.path == b"/generate_stream":
        await turn.write(head(200, "text/event-stream"))
        for number in range(EVENTS):
            await asyncio.sleep(0.1)
            piece = event(token, number)
            await turn.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        await turn.write(b"0\r\n\r\n")
        return
    await asyncio.sleep(dice.uniform(0.0, 0.15))
    body = expected(token, turn.seen.body)
    await turn.write(head(200, "text/plain", framing=f"Content-Length: {len(body)}") + body)


def event(token: bytes, number: int) -> bytes:
    return b"data: %b %d\n\n" % (token, number)


def expected(token: bytes, body: bytes) -> bytes:
    return token + b" " + hashlib.sha256(body).hexdigest().encode()


@pytest.fixture(scope="module")
def worker() -> Iterator[StubWorker]:
    with StubWorker(handler=works) as worker:
        yield worker


# clients --------------------------------------------------------------------------------------------------------------


class Clients:
    """Those who ask one gateway while it is told to stop. They end when nobody listens any more."""

    def __init__(self, gateway: GatewayProcess, name: str) -> None:
        self.round = Round()
        self.told = asyncio.Event()
        self._gateway = gateway
        self._name = name
        self._number = 0

    def token(self) -> str:
        self._number += 1
        return f"{self._name}-{self._number}"

    async def connects(self) -> KeptConnection | None:
        """Connect; None where the connection is refused, which is how a client learns of the end."""
        try:
            return await KeptConnection.open(self._gateway.port)
        except ConnectionError:
            if self.round.refused_at is None:
                self.round.refused_at = time.monotonic()
            return None

    def keep(self, token: str, outcome: Outcome, body: bytes, sent_at: float) -> Ended:
        ended = Ended(token, outcome, body, sent_at, time.monotonic())
        self.round.ended.append(ended)
        return ended

    async def asks_on(self, *, stream: bool) -> None:
        """Ask over and over; reconnect when the connection ends, until that is refused."""
        connection = await self.connects()
        while connection is not None:
            token, sent_at = self.token(), time.monotonic()
            path = "/generate_stream" if stream else "/generate"
            outcome = await connection.ask(request("POST", path, f"X-Request-ID: {token}", body=token.encode()))
            told = token.encode()
            events = b"".join(event(told, number) for number in range(EVENTS))
            ended = self.keep(token, outcome, events if stream else expected(told, told), sent_at)
            if not ended.is_whole or ended.says_close:
                connection.close()
                connection = await self.connects()
            elif self.told.is_set() and stream:
                connection.close()
                return

    async def uploads(self) -> None:
        """Send half of a body before the gateway is told to stop, and the rest a little later."""
        connection = await self.connects()
        assert connection is not None
        token, body, sent_at = self.token(), random.randbytes(300_000), time.monotonic()
        message = request("POST", "/upload", f"X-Request-ID: {token}", body=body)
        connection.writer.write(message[:150_000])
        await connection.writer.drain()
        await self.told.wait()
        await asyncio.sleep(0.4)
        self.keep(token, await connection.ask(message[150_000:]), expected(token.encode(), body), sent_at)
        connection.close()

    async def idles(self) -> None:
        """Ask once, then only keep the connection; tell how it ended."""
        connection = await self.connects()
        assert connection is not None
        token, sent_at = self.token(), time.monotonic()
        outcome = await connection.ask(request("POST", "/generate", f"X-Request-ID: {token}", body=b"idle"))
        self.keep(token, outcome, expected(token.encode(), b"idle"), sent_at)
        try:
            self.round.idle.append(f"closed after {await connection.ended()!r}")
        except OSError as error:
            self.round.idle.append(repr(error))
        connection.close()

    async def watches(self) -> None:
        """Ask whether it is ready until nobody is there to answer."""
        status = 200
        while status:
            at = time.monotonic()
            try:
                status = (await asyncio.to_thread(self._gateway.admin, "/readyz"))[0]
            except OSError:
                status = 0
            self.round.readiness.append((at, status))
            await asyncio.sleep(0.01)

    async def play(self, *, after_s: float) -> Round:
        async with asyncio.TaskGroup() as group:
            for _ in range(UNARY):
                group.create_task(self.asks_on(stream=False))
            for _ in range(STREAMS):
                group.create_task(self.asks_on(stream=True))
            for _ in range(UPLOADS):
                group.create_task(self.uploads())
            for _ in range(IDLE):
                group.create_task(self.idles())
            await asyncio.sleep(after_s)
            group.create_task(self.watches())
            await asyncio.sleep(0.1)
            assert self._gateway.process is not None
            self.round.told_at = time.monotonic()
            self._gateway.process.send_signal(signal.SIGTERM)
            self.told.set()
            self.round.status = await asyncio.to_thread(self._gateway.process.wait, 30)
            self.round.took_s = time.monotonic() - self.round.told_at
        return self.round


@pytest.mark.slow
@pytest.mark.parametrize("number", range(20))
def test_no_request_that_had_begun_is_lost(tmp_path: Path, worker: StubWorker, number: int) -> None:
    dice = random.Random(number)
    accepts_s = ACCEPTS_S * (number % 2)
    worker.seen.clear()
    write_documents(tmp_path, contract_for(worker, limits={"max_in_flight": 500}))
    with running(tmp_path, drain_accept=accepts_s) as gateway:
        gateway.wait_verified(1)
        seen = asyncio.run(Clients(gateway, f"r{number}").play(after_s=dice.uniform(0.3, 0.9)))
        seen.log = gateway.log()
        seen.begun = {(one.header("x-request-id") or b"").decode() for one in worker.seen}
        seen.begun |= {str(record["request_id"]) for record in gateway.records() if record["event"] == "request"}

    assert seen.status == 0
    assert "Traceback" not in seen.log
    assert_nothing_was_lost(seen)
    assert_readiness_went_first(seen, accepts_s)
    assert_answers_say_that_the_connection_ends(seen)
    assert seen.idle == ["closed after b''"] * IDLE
    # The longest thing under way takes 0.8 s.
    assert accepts_s <= seen.took_s < accepts_s + 6


def assert_nothing_was_lost(seen: Round) -> None:
    """Who got no byte, and of whom neither a worker nor the gateway knows, had not begun: any client may ask again."""
    lost = [one for one in seen.ended if not one.is_whole]

    assert sum(one.sent_at < seen.told_at < one.ended_at for one in seen.ended) > UPLOADS + STREAMS
    assert [one for one in lost if one.outcome.response is not None] == []
    assert [one for one in lost if one.token in seen.begun] == []


def assert_readiness_went_first(seen: Round, accepts_s: float) -> None:
    assert {status for at, status in seen.readiness if at > seen.unready_at} == {503, 0}
    assert seen.refused_at is not None
    if accepts_s:
        served = [one for one in seen.ended if one.sent_at > seen.unready_at and one.is_whole]
        assert seen.unready_at < seen.refused_at
        assert len(served) > UNARY


def assert_answers_say_that_the_connection_ends(seen: Round) -> None:
    """Streams have said what they had to say in their head, long before."""
    after = [one for one in seen.ended if one.sent_at > seen.unready_at and one.is_whole]
    waiting = [
        one
        for one in seen.ended
        if one.sent_at < seen.told_at and one.ended_at > seen.unready_at + 0.3 and one.is_whole
        if b" " in one.expected and not one.expected.startswith(b"data")
    ]

    assert len(waiting) >= UPLOADS
    assert all(one.says_close for one in (*after, *waiting))


@pytest.mark.slow
def test_who_reads_slowly_gets_the_rest_of_an_answer_within_the_deadline(tmp_path: Path) -> None:
    clients_port = 0
    written = 0

    async def fills_the_gateway(turn: Turn) -> None:
        """Write until the kernel takes no more and some of it waits in the gateway itself; then the answer is whole."""
        nonlocal written
        await turn.write(turn.worker.head(200, "application/octet-stream"))
        while written - in_kernel(clients_port) < 48_000:
            await turn.write(b"4000\r\n" + b"x" * 0x4000 + b"\r\n")
            written += 0x4000
            await asyncio.sleep(0.01)
        await turn.write(b"0\r\n\r\n")

    with StubWorker(handler=fills_the_gateway) as worker:
        write_documents(tmp_path, contract_for(worker))
        with running(tmp_path, drain_deadline=30) as gateway, socket.socket() as sock:
            gateway.wait_verified(1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.settimeout(20)
            sock.connect(("127.0.0.1", gateway.port))
            clients_port = sock.getsockname()[1]
            sock.sendall(request("GET", "/large"))
            # The worker has done its part: only the gateway and the kernel stand between the answer and its client.
            gateway.wait_for(
                lambda: bool(written) and not any(in_flight(gateway).values()), what="the worker's end", timeout_s=40
            )
            assert gateway.process is not None
            gateway.process.send_signal(signal.SIGTERM)
            time.sleep(8)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1_000_000)
            data = bytearray()
            while piece := sock.recv(65_536):
                data += piece
            status = gateway.process.wait(30)

    (answer,) = parse_responses(bytes(data), closed=True)
    assert status == 0
    assert (len(answer.body), answer.complete) == (written, True)


def in_kernel(port: int) -> int:
    """Bytes on their way to this port of ours: sent and not taken yet, or taken and not read yet."""
    queued = 0
    mine = f":{port:04X}"
    for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
        _, local, remote, _, queues, *_ = line.split()
        sending, receiving = (int(queue, 16) for queue in queues.split(":"))
        queued += sending if remote.endswith(mine) else receiving if local.endswith(mine) else 0
    return queued


def test_a_second_signal_cuts_what_is_left(tmp_path: Path) -> None:
    async def forever(turn: Turn) -> None:
        if turn.seen.path == b"/generate_stream":
            await turn.write(turn.worker.head(200, "text/event-stream"))
            await turn.write(b"9\r\ndata: 1\n\n\r\n")
        await turn.client_gone()

    with StubWorker(handler=forever) as worker:
        write_documents(tmp_path, contract_for(worker))
        with running(tmp_path, drain_deadline=60) as gateway:
            gateway.wait_verified(1)
            data = asyncio.run(cut_short(gateway))
            status = gateway.stop()
            gone = [one.aborted for one in worker.seen]
            worker.handler = answer_json

    unary, stream = data
    assert status == 0
    assert unary.startswith(b"HTTP/1.1 503 ")
    assert b"connection: close" in unary
    assert b'"code":"draining"' in unary.replace(b" ", b"")
    assert b"data: 1\n\n" in stream
    assert b"draining" in stream
    assert not stream.endswith(b"0\r\n\r\n")
    assert gone == [True, True]


async def cut_short(gateway: GatewayProcess) -> list[bytes]:
    connections = [await KeptConnection.open(gateway.port) for _ in range(2)]
    connections[0].writer.write(request("POST", "/generate", body=b"{}"))
    connections[1].writer.write(request("POST", "/generate_stream", body=b"{}"))
    head = await connections[1].reader.readuntil(b"data: 1\n\n")
    assert gateway.process is not None
    for _ in range(2):
        gateway.process.send_signal(signal.SIGTERM)
        await asyncio.sleep(0.3)
    ends = [await connection.ended() for connection in connections]
    for connection in connections:
        connection.close()
    return [ends[0], head + ends[1]]
