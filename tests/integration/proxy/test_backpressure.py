"""One side is slow, the other fast, in both directions: the gateway holds what its settings say and not more."""

from __future__ import annotations

import asyncio
import hashlib
import random
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.at_rest import wait_at_rest
from tests.support.digesting import DigestingWorker, answer_digest
from tests.support.gateway_process import GatewayProcess, running, write_documents
from tests.support.procfs import MIB, forget_peak, peak_rss, rss
from tests.support.raw import parse_responses, request
from tests.support.stub_worker import StubWorker, Turn, contract_for, workers

KIB = 1024
STREAMS = 45
HELD_EACH = 512 * KIB
"""What one stream may cost while its client stalls: 64 KiB of buffer and one read of 256 KiB, and what they lie in."""
SLACK = 8 * MIB
EVENTS = 8
EVENTS_GAP_S = 0.25
ANSWER = 8 * MIB

Served = tuple[GatewayProcess, dict[str, StubWorker]]


def blocks(seed: int) -> Iterator[bytes]:
    """The bytes of one answer, different for each client, as cheaply as can be."""
    block = random.Random(seed).randbytes(64 * KIB)
    for number in range(ANSWER // len(block)):
        yield block[number % 100 :] + block[: number % 100]


async def floods(turn: Turn) -> None:
    """Write an answer as fast as it is taken."""
    await turn.write(turn.worker.head(200, "application/octet-stream", framing=f"Content-Length: {ANSWER}"))
    for block in blocks(int(turn.seen.header("x-seed") or 0)):
        await turn.write(block)


async def tells(turn: Turn) -> None:
    """Four events a second, each with the moment it was written."""
    await turn.write(turn.worker.head(200, "text/event-stream"))
    for number in range(EVENTS):
        await asyncio.sleep(EVENTS_GAP_S)
        event = b"data: %d %f\n\n" % (number, time.monotonic())
        await turn.write(b"%x\r\n%b\r\n" % (len(event), event))
    await turn.write(b"0\r\n\r\n")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("documents")
    made = {
        "fast": StubWorker(model_id="fast", handler=floods),
        "events": StubWorker(model_id="events", handler=tells),
        "slow": DigestingWorker(model_id="slow", handler=answer_digest, rest_s=0.02),
    }
    with workers(*made.values()):
        write_documents(folder, *(contract_for(worker, limits={"max_in_flight": 500}) for worker in made.values()))
        with running(folder, probe_interval=2) as gateway:
            gateway.wait_verified(len(made))
            yield gateway, made


@pytest.fixture(autouse=True)
def _at_rest_again(served: Served) -> Iterator[None]:
    yield
    wait_at_rest(served[0])


# clients --------------------------------------------------------------------------------------------------------------


async def connect(port: int) -> socket.socket:
    """A client whose kernel takes little ahead of it."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.setblocking(False)
    await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", port))
    return sock


async def ask_flood(port: int, seed: int) -> socket.socket:
    sock = await connect(port)
    message = request("POST", "/flood", "X-Model-Id: fast", f"X-Seed: {seed}", body=b"{}", close=True)
    await asyncio.get_running_loop().sock_sendall(sock, message)
    return sock


async def read_slowly(sock: socket.socket, into: bytearray, *, seconds: float) -> None:
    """Take a little, often."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        into += await asyncio.get_running_loop().sock_recv(sock, 2048)
        await asyncio.sleep(0.1)


async def read_all(sock: socket.socket, into: bytearray) -> None:
    while piece := await asyncio.get_running_loop().sock_recv(sock, 256 * KIB):
        into += piece


async def read_events(port: int) -> list[tuple[bytes, float]]:
    """Read a stream of events; gives what each read brought, and when."""
    loop = asyncio.get_running_loop()
    reads = []
    with socket.create_connection(("127.0.0.1", port)) as sock:
        sock.setblocking(False)
        await loop.sock_sendall(sock, request("POST", "/generate_stream", "X-Model-Id: events", body=b"{}", close=True))
        while piece := await loop.sock_recv(sock, 65_536):
            reads.append((piece, time.monotonic()))
    return reads


# a slow client and a fast worker --------------------------------------------------------------------------------------


def test_slow_readers_cost_no_more_than_the_high_water_mark_and_hold_up_no_events(served: Served) -> None:
    gateway, _ = served

    async def story() -> tuple[list[int], list[bytes], list[list[tuple[bytes, float]]]]:
        data = [bytearray() for _ in range(STREAMS)]
        memory = [rss(gateway.pid)]
        forget_peak(gateway.pid)
        socks = [await ask_flood(gateway.port, number) for number in range(STREAMS)]
        await asyncio.sleep(1.5)  # until kernels and buffers are full
        async with asyncio.TaskGroup() as group:
            events = [group.create_task(read_events(gateway.port)) for _ in range(10)]
            for sock, into in zip(socks, data, strict=True):
                group.create_task(read_slowly(sock, into, seconds=3.0))
        memory += [peak_rss(gateway.pid), rss(gateway.pid)]
        # A third of them vanish with their buffers full; the others take all of it.
        for number in range(0, STREAMS, 3):
            socks[number].close()
        stay = [number for number in range(STREAMS) if number % 3]
        for number in stay:
            socks[number].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024 * KIB)
        async with asyncio.TaskGroup() as group:
            for number in stay:
                group.create_task(read_all(socks[number], data[number]))
        for sock in socks:
            sock.close()
        memory.append(peak_rss(gateway.pid))
        return memory, [bytes(data[number]) for number in stay], [event.result() for event in events]

    (before, slow, _, peak), whole, streams = asyncio.run(story())

    assert slow - before < STREAMS * HELD_EACH + SLACK
    assert peak - before < STREAMS * HELD_EACH + SLACK
    for seed, data in zip((n for n in range(STREAMS) if n % 3), whole, strict=True):
        (answer,) = parse_responses(data, closed=True)
        assert answer.complete
        assert digest(answer.body) == digest(b"".join(blocks(seed)))
    for reads in streams:
        assert_one_read_per_event(reads)
    gateway.wait_for(lambda: rss(gateway.pid) < before * 1.1 + SLACK, what="memory to be given back", timeout_s=10)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def assert_one_read_per_event(reads: list[tuple[bytes, float]]) -> None:
    """The head comes by itself, each event by itself and soon, the end by itself or with the close."""
    events = [(piece, at) for piece, at in reads if b"data: " in piece]

    assert [piece.count(b"data: ") for piece, _ in events] == [1] * EVENTS
    assert reads[0][0].startswith(b"HTTP/1.1 200 ")
    assert b"data: " not in reads[0][0]
    assert len(reads) in (EVENTS + 1, EVENTS + 2)
    assert b"".join(piece for piece, _ in reads).endswith(b"\r\n0\r\n\r\n")
    for number, (piece, at) in enumerate(events):
        written, told = piece.split(b"\n")[1].split()[1:], at
        assert int(written[0]) == number
        assert told - float(written[1]) < EVENTS_GAP_S


# a fast client and a slow worker --------------------------------------------------------------------------------------


def test_a_worker_that_takes_bodies_slowly_costs_the_bodies_and_no_more(served: Served) -> None:
    gateway, made = served
    size, number = 4 * MIB, 20
    bodies = [random.Random(seed).randbytes(size) for seed in range(number)]
    before = rss(gateway.pid)
    forget_peak(gateway.pid)

    async def sends(body: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
        writer.write(request("POST", "/take", "X-Model-Id: slow", body=body, close=True))
        answer = await reader.read()
        writer.close()
        return answer

    async def story() -> list[bytes]:
        return await asyncio.gather(*map(sends, bodies))

    answers = asyncio.run(story())

    peak = peak_rss(gateway.pid)
    assert [parse_responses(data, closed=True)[0].body.decode() for data in answers] == [*map(digest, bodies)]
    assert {seen.body.decode() for seen in made["slow"].seen} == set(map(digest, bodies))
    assert peak - before < number * size * 1.25 + SLACK
    gateway.wait_for(lambda: rss(gateway.pid) < before * 1.1 + SLACK, what="memory to be given back", timeout_s=10)


def test_a_client_that_goes_on_sending_while_it_waits_is_read_no_further_than_the_bound(served: Served) -> None:
    gateway, _ = served
    before = rss(gateway.pid)
    forget_peak(gateway.pid)

    async def sends_on(number: int) -> int:
        """Ask for something slow, then write whatever is taken for two seconds; gives how much was."""
        loop = asyncio.get_running_loop()
        sock = await connect(gateway.port)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 * KIB)
        taken = 0
        await loop.sock_sendall(sock, request("POST", "/generate_stream", "X-Model-Id: events", body=b"{}"))
        await asyncio.sleep(0.2)
        until = loop.time() + 1.5
        flood = request("POST", "/later", body=b"x" * 1_000_000)
        while loop.time() < until:
            try:
                taken += sock.send(flood)
            except BlockingIOError:
                await asyncio.sleep(0.02)
        sock.close()
        return taken

    async def story() -> list[int]:
        return await asyncio.gather(*map(sends_on, range(30)))

    taken = asyncio.run(story())

    assert max(taken) < 16 * MIB, "the rest is what kernels hold"
    assert peak_rss(gateway.pid) - before < 30 * HELD_EACH + SLACK


# a fast client and a worker that speaks slowly ------------------------------------------------------------------------


def test_each_event_is_one_read_of_its_client(served: Served) -> None:
    gateway, _ = served

    async def story() -> list[list[tuple[bytes, float]]]:
        return await asyncio.gather(*(read_events(gateway.port) for _ in range(30)))

    for reads in asyncio.run(story()):
        assert_one_read_per_event(reads)
