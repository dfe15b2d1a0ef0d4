"""Five hundred clients leave at once, wherever they are: every worker learns of it, nothing is left, nothing mixes.

Each request and each answer carries a token of its own, on every line of it. Both sides check every byte they saw.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import re
import socket
import struct
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from statistics import median

import pytest

from tests.support.at_rest import standing, wait_at_rest
from tests.support.gateway_process import GatewayProcess, http, running, write_documents
from tests.support.kept import KeptConnection
from tests.support.procfs import descriptors
from tests.support.raw import parse_responses, request
from tests.support.stub_worker import Seen, StubWorker, Turn, contract_for, workers

CLIENTS = 500
CONTROLS = 16
EVENTS = 5
TOKEN = re.compile(rb"[QA]\.\d{6}\.[0-9a-f]{8}\.")
VERSIONS = ("v1.0.0", "v2.0.0", "v3.0.0")
PHASES = ("half-sent", "before-the-first-byte", "prefill", "mid-stream", "not-a-stream")
BEGUN = frozenset(PHASES) - {"half-sent"}


@dataclass
class Asked:
    """One request, what its client does with it, and what came of it."""

    phase: str
    how: str
    delay_s: float
    token: bytes
    message: bytes
    cut_at: int
    data: bytearray = field(default_factory=bytearray)
    left_at: float = 0.0
    is_ended_by_gateway: bool = True


@dataclass
class Told:
    """What a worker did with one request."""

    seen: Seen
    answer: bytes
    began_at: float
    stray: bytes = b""
    """What came on its connection while it answered."""
    aborted_at: float = 0.0

    @property
    def token(self) -> bytes:
        return self.seen.header("x-token") or b""

    @property
    def phase(self) -> str:
        return (self.seen.header("x-phase") or b"").decode()


@dataclass
class Book:
    """Everything the workers did, by the request's token: more than one entry is a request that ran twice."""

    told: dict[bytes, list[Told]] = field(default_factory=dict)
    numbers: count[int] = field(default_factory=count)

    def begin(self, turn: Turn) -> Told:
        answer = b"A.%06d.%08x." % (next(self.numbers), random.getrandbits(32))
        told = Told(turn.seen, answer, time.monotonic())
        self.told.setdefault(told.token, []).append(told)
        return told

    @property
    def all(self) -> list[Told]:
        return [told for many in self.told.values() for told in many]


def line(token: bytes, answer: bytes, number: int) -> bytes:
    """One line of an answer. Nothing else is in its body."""
    return b"data: %b %b %d\n\n" % (token, answer, number)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def handler(book: Book) -> Callable[[Turn], Awaitable[None]]:
    """A worker that never ends an answer whose client will leave: only the gateway's close ends it."""

    async def plays(turn: Turn) -> None:
        told = book.begin(turn)
        if not is_left(told):
            await writes_whole(turn, told)
            return
        async with asyncio.TaskGroup() as group:
            writing = group.create_task(writes_on(turn, told))
            with contextlib.suppress(ConnectionError):
                while data := await turn.reader.read(65_536):
                    told.stray += data
            told.aborted_at = time.monotonic()
            turn.seen.aborted = turn.close = True
            writing.cancel()

    return plays


async def writes_whole(turn: Turn, told: Told) -> None:
    """Answer to the end, which gives the connection back to the gateway's pool."""
    dice = random.Random(told.token)
    await turn.write(turn.worker.head(200, "text/event-stream"))
    for number in range(EVENTS):
        await turn.write(chunk(line(told.token, told.answer, number)))
        await asyncio.sleep(dice.uniform(0.0, 0.02))
    await turn.write(b"0\r\n\r\n")


async def writes_on(turn: Turn, told: Told) -> None:
    """Write what belongs to the phase, without an end."""
    dice = random.Random(told.token)
    if told.phase == "not-a-stream" and dice.random() < 0.5:
        await turn.write(turn.worker.head(200, "text/plain", framing="Content-Length: 1000000"))
        await turn.write(line(told.token, told.answer, 0))
    if told.phase in {"prefill", "mid-stream"}:
        await turn.write(turn.worker.head(200, "text/event-stream"))
    for number in count() if told.phase == "mid-stream" else ():
        with contextlib.suppress(ConnectionError):
            await turn.write(chunk(line(told.token, told.answer, number)))
        await asyncio.sleep(dice.uniform(0.05, 0.3))


def ask(number: int, dice: random.Random, phase: str, version: str) -> tuple[bytes, bytes]:
    """A request full of its token, of a few hundred bytes or many thousand; gives token and bytes."""
    token = b"Q.%06d.%08x." % (number, dice.getrandbits(32))
    text = token.decode()
    body = json.dumps({"stream": phase != "not-a-stream", "token": text, "pad": text * dice.choice((1, 10, 3000))})
    path = f"/{'generate' if phase == 'not-a-stream' else 'generate_stream'}?t={text}"
    headers = [f"X-Token: {text}", f"X-Request-ID: {text}", f"X-Phase: {phase}", f"X-Model-Preference: {version}"]
    return token, request("POST", path, *headers, body=body.encode())


def plan(seed: int) -> list[Asked]:
    """Who will do what. One version has so little room that many of its requests are left in the queue."""
    dice = random.Random(seed)
    asked = []
    for number in range(CLIENTS):
        phase = PHASES[number % len(PHASES)]
        token, message = ask(number, dice, phase, dice.choice(VERSIONS))
        cut_at = dice.randrange(1, len(message)) if phase == "half-sent" else len(message)
        how = dice.choice(("close", "reset", "half-close"))
        asked.append(Asked(phase, how, dice.choice((0.03, 0.5, 2.0, 3.0)) * dice.random(), token, message, cut_at))
    return asked


# clients --------------------------------------------------------------------------------------------------------------


async def leaves(port: int, asked: Asked, together: asyncio.Barrier) -> None:
    """Connect, wait for all others, ask, and leave at the planned moment; keep every byte that came."""
    loop = asyncio.get_running_loop()
    with socket.socket() as sock:
        sock.setblocking(False)
        await loop.sock_connect(sock, ("127.0.0.1", port))
        await together.wait()
        await loop.sock_sendall(sock, asked.message[: asked.cut_at])
        if asked.phase in {"prefill", "mid-stream"}:
            mark = b"\r\n\r\n" if asked.phase == "prefill" else b"data: "
            await takes(sock, asked, seconds=1.0, until=mark)
        await takes(sock, asked, seconds=asked.delay_s)
        asked.left_at = time.monotonic()
        if asked.how == "reset":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif asked.how == "half-close":
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_WR)
                asked.is_ended_by_gateway = await takes(sock, asked, seconds=5.0)


async def takes(sock: socket.socket, asked: Asked, *, seconds: float, until: bytes | None = None) -> bool:
    """Read for so long, or until these bytes came; says whether the peer ended the connection."""
    try:
        async with asyncio.timeout(seconds):
            while until is None or until not in asked.data:
                await readable(sock)
                data = sock.recv(65_536)
                if not data:
                    return True
                asked.data += data
    except TimeoutError:
        return False
    except ConnectionError:
        return True
    return False


async def readable(sock: socket.socket) -> None:
    """Wait, and read nothing: `sock_recv` loses what it has read where the time is over in the same turn."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(sock, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(sock)


async def stays(port: int, number: int, stop: asyncio.Event, got: list[tuple[bytes, bytes]]) -> None:
    """Ask over and over on one kept connection; every answer must be whole and this client's own."""
    connection = await KeptConnection.open(port)
    dice = random.Random(number)
    for turn in count():
        if stop.is_set():
            break
        token, message = ask(100_000 + number * 1000 + turn, dice, "whole", dice.choice(VERSIONS[:2]))
        outcome = await connection.ask(message)
        assert outcome.status == 200, outcome
        assert outcome.response is not None
        assert outcome.response.complete
        assert outcome.response.header("x-request-id") == token.decode()
        got.append((token, outcome.response.body))
        await asyncio.sleep(dice.random() / 20)
    connection.close()


async def storm(port: int, asked: list[Asked]) -> list[tuple[bytes, bytes]]:
    """All of them at once, beside some who stay; gives what those got."""
    got: list[tuple[bytes, bytes]] = []
    together, stop = asyncio.Barrier(len(asked)), asyncio.Event()
    async with asyncio.TaskGroup() as group:
        staying = [group.create_task(stays(port, number, stop, got)) for number in range(CONTROLS)]
        async with asyncio.TaskGroup() as leaving:
            for one in asked:
                leaving.create_task(leaves(port, one, together))
        await asyncio.sleep(0.3)
        stop.set()
        await asyncio.wait(staying)
    return got


# the story ------------------------------------------------------------------------------------------------------------


@dataclass
class After:
    """What was left when everybody had left."""

    asked: list[Asked]
    kept: list[tuple[bytes, bytes]]
    book: Book
    records: dict[str, list[dict[str, object]]]
    standing: set[tuple[str, str]]
    last: set[int]


@pytest.fixture(scope="module")
def after(tmp_path_factory: pytest.TempPathFactory) -> After:
    folder: Path = tmp_path_factory.mktemp("documents")
    book = Book()
    plays = handler(book)
    made = [
        StubWorker(version=version, seed=version, name=name, handler=plays)
        for name, version in (("a", "v1.0.0"), ("b", "v1.0.0"), ("c", "v2.0.0"), ("d", "v3.0.0"))
    ]
    with workers(*made):
        roomy, narrow = {"max_in_flight": 1000}, {"max_in_flight": 20}
        write_documents(
            folder,
            contract_for(*made[:2], limits=roomy),
            contract_for(made[2], limits=roomy),
            contract_for(made[3], limits=narrow),
        )
        with running(folder, probe_interval=1, admission_wait=20) as gateway:
            gateway.wait_verified(4)
            return everybody_leaves(gateway, book)


def everybody_leaves(gateway: GatewayProcess, book: Book) -> After:
    asked = plan(seed=3)
    before = descriptors(gateway.pid)
    kept = asyncio.run(storm(gateway.port, asked))
    wait_at_rest(gateway)
    gateway.wait_for(lambda: all(told.aborted_at for told in book.all if is_left(told)), what="every abort")
    # Connections to workers are kept for four seconds after an answer that was complete.
    gateway.wait_for(lambda: descriptors(gateway.pid) <= before, what="every connection to be let go", timeout_s=12)
    last = {http(f"{gateway.url}/{version}/x", headers={"X-Phase": "whole"})[0] for version in VERSIONS}
    records: dict[str, list[dict[str, object]]] = {}
    gateway.wait_for(lambda: len(gateway.records()) > len(kept), what="the records")
    for record in gateway.records():
        if record["event"] == "request":
            records.setdefault(str(record["request_id"]), []).append(record)
    return After(asked, kept, book, records, set(standing(gateway).values()), last)


def is_left(told: Told) -> bool:
    return told.phase != "whole"


def test_the_clients_left_where_they_were_meant_to(after: After) -> None:
    """Else the rest would hold for want of anything to happen."""
    begun = Counter(asked.phase for asked in after.asked if asked.token in after.book.told)

    assert sum(begun.values()) > 200
    assert all(begun[phase] > 25 for phase in BEGUN)
    assert begun["half-sent"] == 0
    assert sum(b"data: " in asked.data for asked in after.asked if asked.phase == "mid-stream") > 40
    assert not any(asked.data for asked in after.asked if asked.phase == "before-the-first-byte")
    assert len(after.kept) > 100


def test_nothing_is_left_of_them(after: After) -> None:
    assert after.last == {200}
    assert after.standing == {("verified", "up")}


def test_every_worker_saw_the_abort_of_every_request_it_had_begun(after: After) -> None:
    left_at = {asked.token: asked.left_at for asked in after.asked}
    begun = [(token, told) for token, many in after.book.told.items() for told in many if is_left(told)]
    late = [told.aborted_at - max(left_at[token], told.began_at) for token, told in begun]

    assert all(told.seen.aborted for _, told in begun)
    assert min(late) > -0.05, "none was cut before its client left"
    # 100 ms is the promise; a whole crowd shares these cores with its gateway and its workers.
    assert median(late) < 0.1
    assert max(late) < 1.5


def test_who_left_by_half_is_let_go(after: After) -> None:
    assert all(asked.is_ended_by_gateway for asked in after.asked)


def test_no_request_ran_twice_or_holds_a_byte_of_another(after: After) -> None:
    sent = {asked.token: asked.message for asked in after.asked}

    for token, many in after.book.told.items():
        if not token:
            continue  # those asked at the end, which have none
        (told,) = many
        assert set(TOKEN.findall(told.seen.raw_head + told.seen.body)) == {token}
        assert told.stray == b""
        if token in sent:
            assert told.seen.body == sent[token].partition(b"\r\n\r\n")[2]
            assert told.seen.path == sent[token].split(b" ")[1]


def test_no_answer_holds_a_byte_of_another(after: After) -> None:
    for asked in after.asked:
        own = {asked.token} | {told.answer for told in after.book.told.get(asked.token, ())}
        assert set(TOKEN.findall(bytes(asked.data))) <= own
        for response in parse_responses(bytes(asked.data), closed=True):
            (told,) = after.book.told[asked.token]
            whole = b"".join(line(asked.token, told.answer, number) for number in range(1000))
            assert response.status == 200
            assert whole.startswith(response.body)


def test_those_who_stay_get_their_own_answers_whole(after: After) -> None:
    for token, body in after.kept:
        (told,) = after.book.told[token]
        assert body == b"".join(line(token, told.answer, number) for number in range(EVENTS))


def test_each_request_has_one_end_and_it_is_that_its_client_left(after: After) -> None:
    for asked in after.asked:
        ends = [record["code"] for record in after.records.get(asked.token.decode(), ())]
        assert ends == ["client_left"] if asked.token in after.book.told else ends in ([], ["client_left"])
