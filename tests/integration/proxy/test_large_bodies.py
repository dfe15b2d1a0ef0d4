"""Fifty large bodies at once arrive whole; those who ask small things meanwhile do not wait; nothing stays held."""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.at_rest import wait_at_rest
from tests.support.digesting import DigestingWorker, answer_digest
from tests.support.gateway_process import GatewayProcess, http, running, write_documents
from tests.support.procfs import MIB, forget_peak, peak_rss, rss
from tests.support.raw import Response, Wire, request
from tests.support.stub_worker import StubWorker, contract_for, workers

AT_ONCE = 50
PIECE = 256 * 1024
BOUND = 8 * MIB
"""What the last test lets the gateway hold of bodies."""


class Large:
    """Bodies of one size: JSON with the model's name, so that all of it is looked at; each has bytes of its own."""

    def __init__(self, size: int) -> None:
        self.filling = random.Random(size).randbytes(size // 2).hex().encode()
        self.size = size

    def body(self, number: int) -> tuple[bytes, bytes]:
        """What stands before the filling and what behind it: only these differ."""
        return b'{"number": %d, "data": "' % number, b'", "model": "m"}'

    def digest(self, number: int) -> str:
        before, behind = self.body(number)
        return hashlib.sha256(before + self.filling + behind).hexdigest()

    def send(self, sock: socket.socket, number: int, *, chunked: bool) -> None:
        """Write the whole request, in pieces."""
        before, behind = self.body(number)
        length = len(before) + len(self.filling) + len(behind)
        framing = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {length}"
        sock.sendall(f"POST /v1/large HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n".encode())
        filling = self.filling
        for piece in (before, *(filling[at : at + PIECE] for at in range(0, len(filling), PIECE)), behind):
            if chunked:
                sock.sendall(b"%x\r\n" % len(piece))
            sock.sendall(piece)
            if chunked:
                sock.sendall(b"\r\n")
        if chunked:
            sock.sendall(b"0\r\n\r\n")


class SmallAsker:
    """Asks small things on a kept connection, one after another, and times each; `with` it."""

    def __init__(self, port: int) -> None:
        self.took_s: list[float] = []
        self.wrong: list[bytes] = []
        self._port = port
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> SmallAsker:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(30)

    def _run(self) -> None:
        with Wire(self._port) as wire:
            while not self._stop.is_set():
                token = b"small-%d" % len(self.took_s)
                began_at = time.monotonic()
                wire.conversation.data = b""
                wire.send(request("POST", "/small", "X-Model-Id: small", body=token))
                (answer,) = wire.read(20, until=1).responses or [Response(0, b"", b"", complete=False)]
                self.took_s.append(time.monotonic() - began_at)
                if answer.body != hashlib.sha256(token).hexdigest().encode():
                    self.wrong.append(answer.head + answer.body)
                time.sleep(0.01)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[GatewayProcess, StubWorker]]:
    """One model for what is large, one for what is small."""
    folder: Path = tmp_path_factory.mktemp("documents")
    large = DigestingWorker(handler=answer_digest)
    small = DigestingWorker(model_id="small", seed="s", handler=answer_digest)
    with workers(large, small):
        write_documents(folder, contract_for(large), contract_for(small))
        with running(folder, probe_interval=5, max_buffered=1100 * MIB) as gateway:
            gateway.wait_verified(2)
            yield gateway, large


@pytest.mark.parametrize(
    ("size", "rounds", "slowest_s"),
    [pytest.param(2_000_000, 4, 1.5, id="2-MB"), pytest.param(20_000_000, 1, 3.0, id="20-MB", marks=pytest.mark.slow)],
)
def test_large_bodies_arrive_whole_and_hold_up_nobody(
    fleet: tuple[GatewayProcess, StubWorker], size: int, rounds: int, slowest_s: float
) -> None:
    gateway, worker = fleet
    worker.seen.clear()
    large = Large(size)
    expected = {large.digest(number) for number in range(AT_ONCE * rounds)}
    before = rss(gateway.pid)
    forget_peak(gateway.pid)

    def one(number: int) -> list[str]:
        """Send some on one kept connection; half of the clients do not say how long they are."""
        got = []
        with socket.create_connection(("127.0.0.1", gateway.port), timeout=60) as sock:
            for turn in range(rounds):
                large.send(sock, number * rounds + turn, chunked=number % 2 == 0)
                got.append(read_answer(sock))
        return got

    with SmallAsker(gateway.port) as first, SmallAsker(gateway.port) as second, ThreadPoolExecutor(AT_ONCE) as threads:
        answers = [answer for many in threads.map(one, range(AT_ONCE)) for answer in many]
    took_s = sorted(first.took_s + second.took_s)

    assert set(answers) == expected
    assert Counter(seen.body.decode() for seen in worker.seen) == Counter(expected)
    assert first.wrong == second.wrong == []
    assert len(took_s) > 20
    assert took_s[-1] < slowest_s
    wait_at_rest(gateway)
    assert peak_rss(gateway.pid) - before < AT_ONCE * size * 1.5 + 32 * MIB


def test_memory_of_large_bodies_is_given_back(tmp_path: Path) -> None:
    large = Large(20_000_000)

    def one(number: int) -> str:
        with socket.create_connection(("127.0.0.1", gateway.port), timeout=60) as sock:
            large.send(sock, number, chunked=number % 2 == 0)
            return read_answer(sock)

    with DigestingWorker(handler=answer_digest) as worker:
        write_documents(tmp_path, contract_for(worker))
        with running(tmp_path, probe_interval=5) as gateway:
            gateway.wait_verified(1)
            before = rss(gateway.pid)
            with ThreadPoolExecutor(20) as threads:
                answers = set(threads.map(one, range(20)))
            deadline = time.monotonic() + 10
            while (grew := rss(gateway.pid) - before) > 24 * MIB and time.monotonic() < deadline:
                time.sleep(0.2)

    assert answers == {large.digest(number) for number in range(20)}
    assert grew <= 24 * MIB


def read_answer(sock: socket.socket) -> str:
    """Read one answer of known length; gives its body, or all of it where it is no 200."""
    data = b""
    while (body := data.partition(b"\r\n\r\n")[2]) == b"" or len(body) < 64:
        piece = sock.recv(65_536)
        if not piece:
            break
        data += piece
    return body.decode() if data.startswith(b"HTTP/1.1 200 ") else data.decode("latin-1")


def test_what_is_held_is_counted_to_the_byte_whatever_becomes_of_it(tmp_path: Path) -> None:
    """Bodies that are answered, refused for want of room, cut anywhere or chunked: not one byte stays counted.

    No gauge shows what is held. But a body of just the bound is taken only while nothing else is counted, and one of a
    byte more never is.
    """
    large = Large(2_000_000)
    dice = random.Random(5)
    statuses: Counter[int] = Counter()

    def insists(number: int) -> str:
        """Send a body until there is room for it."""
        while time.monotonic() < until:
            with Wire(gateway.port, timeout_s=30) as wire:
                with contextlib.suppress(OSError):
                    large.send(wire._sock, number, chunked=number % 2 == 0)
                responses = wire.read(30, until=1).responses
            status = responses[0].status if responses else 0
            statuses[status] += 1
            if status == 200:
                return responses[0].body.decode()
            if status == 429:
                assert int(responses[0].header("retry-after") or 0) >= 1
                assert json.loads(responses[0].body)["code"] == "saturated"
            elif status:
                return repr(responses[0])
            time.sleep(random.random() / 2)
        return ""

    def leaves(number: int) -> None:
        """Send a part of a body and leave, in peace or not."""
        message = request("POST", "/v1/large", body=b"x" * 3_000_000)
        with socket.create_connection(("127.0.0.1", gateway.port), timeout=30) as sock, contextlib.suppress(OSError):
            sock.sendall(message[: cuts[number]])
            time.sleep(cuts[number] / 10_000_000)
            if number % 2:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    cuts = [dice.randrange(3_000_000) for _ in range(60)]
    with DigestingWorker(handler=answer_digest) as worker:
        write_documents(tmp_path, contract_for(worker, limits={"max_body_bytes": 2 * BOUND}))
        with running(tmp_path, probe_interval=5, max_buffered=BOUND, max_body=2 * BOUND) as gateway:
            gateway.wait_verified(1)
            before = rss(gateway.pid)
            forget_peak(gateway.pid)
            until = time.monotonic() + 45
            with ThreadPoolExecutor(2 * AT_ONCE) as threads:
                left = threads.map(leaves, range(60))
                answers = list(threads.map(insists, range(AT_ONCE)))
                list(left)
            peak = peak_rss(gateway.pid) - before
            wait_at_rest(gateway)
            just, more = (http(f"{gateway.url}/x", method="POST", body=b"x" * (BOUND + n))[0] for n in (0, 1))

    assert set(answers) == {large.digest(number) for number in range(AT_ONCE)}
    # Who does not read while it sends may find its connection reset instead of the 429.
    assert statuses.keys() <= {0, 200, 429}
    assert statuses[429] > 0, "there was never too much, so nothing was tried"
    assert peak < 2 * BOUND + 32 * MIB
    assert (just, more) == (200, 429)
