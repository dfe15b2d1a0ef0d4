"""What one client connection may do to the gateway, to its worker and to other clients: little, and not for long."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.gateway_process import GatewayProcess, http, running, write_documents
from tests.support.raw import Wire, parse_responses, request, talk
from tests.support.stub_worker import StubWorker, Turn, answer_json, contract_for

Served = tuple[GatewayProcess, StubWorker]
BLOCK = b"10000\r\n" + b"x" * 65_536 + b"\r\n"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("documents")
    with StubWorker() as worker:
        write_documents(folder, contract_for(worker, limits={"max_in_flight": 1000}))
        with running(folder, probe_interval=1, client_write_stall=3, client_header_timeout=4) as gateway:
            gateway.wait_verified(1)
            yield gateway, worker


@pytest.fixture(autouse=True)
def _honest_again(served: Served) -> Iterator[None]:
    yield
    gateway, worker = served
    worker.handler = answer_json
    gateway.wait_for(lambda: in_flight(gateway) == 0, what="an empty flight")
    gateway.wait_verified(1, timeout_s=60)


def in_flight(gateway: GatewayProcess) -> int:
    count: int = gateway.status()["instances"][0]["in_flight"]
    return count


def wait_until(condition: Callable[[], object], *, what: str, timeout_s: float = 10.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.005)


def small_window(gateway: GatewayProcess) -> socket.socket:
    """A client whose kernel takes little ahead of it."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.settimeout(30)
    sock.connect(("127.0.0.1", gateway.port))
    return sock


# slow readers ---------------------------------------------------------------------------------------------------------


def test_a_slow_reader_gets_the_whole_of_an_answer_that_closes(served: Served) -> None:
    gateway, worker = served
    blocks = 100
    done: list[float] = []

    async def large(turn: Turn) -> None:
        await turn.write(worker.head(200, "application/octet-stream", framing=f"Content-Length: {blocks * 65_536}"))
        for _ in range(blocks):
            await turn.write(b"x" * 65_536)
        done.append(time.monotonic())

    worker.handler = large
    with small_window(gateway) as sock:
        sock.sendall(request("GET", "/", close=True))
        data = bytearray()
        while not done:
            data += sock.recv(16_384)
        # The rest of the answer is with the gateway; who takes half a minute for it is slow, not gone.
        for _ in range(6):
            time.sleep(1.0)
            data += sock.recv(4096)
        while piece := sock.recv(65_536):
            data += piece
    (answer,) = parse_responses(bytes(data), closed=True)

    assert answer.complete
    assert answer.header("connection") == "close"


@pytest.mark.parametrize("how", ["half-close", "reset"])
def test_a_client_that_leaves_with_a_full_buffer_frees_the_worker_at_once(served: Served, how: str) -> None:
    gateway, worker = served
    gone: list[float] = []

    async def floods(turn: Turn) -> None:
        await turn.write(worker.head(200, "application/octet-stream"))
        try:
            while True:
                await turn.write(BLOCK)
        except ConnectionError:
            gone.append(time.monotonic())
            raise

    worker.handler = floods
    with small_window(gateway) as sock:
        sock.sendall(request("GET", "/"))
        sock.recv(1)
        time.sleep(0.5)
        left_at = time.monotonic()
        if how == "half-close":
            sock.shutdown(socket.SHUT_WR)
        else:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
            sock.close()
        wait_until(lambda: gone, what="the worker to see the end")
    assert gone[0] - left_at < 0.5


# pipelines ------------------------------------------------------------------------------------------------------------


def test_what_is_pipelined_beyond_the_bound_is_closed_and_not_left_hanging(served: Served) -> None:
    gateway, worker = served

    async def slow(turn: Turn) -> None:
        await asyncio.sleep(0.3)
        await answer_json(turn)

    worker.handler = slow
    with Wire(gateway.port) as wire:
        wire.send(request("POST", "/first", body=b"{}"))
        wire.read(0.05)
        wire.send(request("POST", "/second", body=b"y" * 300_000))
        began = time.monotonic()
        conversation = wire.read(10)

    assert conversation.closed
    assert time.monotonic() - began < 4
    assert conversation.responses[0].status == 200
    assert conversation.responses[0].complete


def test_requests_read_before_the_bound_was_met_are_answered(served: Served) -> None:
    gateway, worker = served

    async def first_is_slow(turn: Turn) -> None:
        await asyncio.sleep(0.6 if turn.seen.path == b"/first" else 0)
        await answer_json(turn)

    worker.handler = first_is_slow
    with Wire(gateway.port) as wire:
        wire.send(request("POST", "/first", body=b"{}"))
        wire.read(0.05)
        wire.send(b"".join(request("POST", f"/next/{number}", body=b"y" * 900) for number in range(100)))
        conversation = wire.read(10)

    paths = [json.loads(response.body)["path"] for response in conversation.responses if response.complete]
    assert conversation.closed
    assert paths == ["/first", *(f"/next/{number}" for number in range(len(paths) - 1))]
    assert len(paths) > 50


def test_pipelined_requests_are_answered_in_order_each_with_its_own(served: Served) -> None:
    gateway, worker = served

    async def echoes(turn: Turn) -> None:
        await asyncio.sleep(random.random() / 50)
        await turn.write(
            worker.head(200, "text/plain", framing=f"Content-Length: {len(turn.seen.body)}") + turn.seen.body
        )

    worker.handler = echoes
    bodies = [b"token-%d" % number for number in range(20)]
    chunked = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n"
    requests = [
        chunked % (len(body), body) if number % 3 == 0 else request("POST", "/", body=body)
        for number, body in enumerate(bodies)
    ]

    conversation = talk(gateway.port, [b"".join(requests)], wait_s=5, until=20)

    assert [response.body for response in conversation.responses] == bodies


# early answers --------------------------------------------------------------------------------------------------------


def test_100_continue_is_written_once_and_only_for_what_will_be_read(served: Served) -> None:
    gateway, _ = served
    head = b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n"

    with Wire(gateway.port) as wire:
        wire.send(head + b"\r\n")
        wire.read(0.3)
        wire.send(b"{")
        wire.read(0.1)
        wire.send(b"}")
        statuses = [response.status for response in wire.read(3, until=1).responses]
    unknown = talk(gateway.port, [head + b"X-Model-Id: nobody\r\n\r\n"], wait_s=1)
    large = talk(gateway.port, [head.replace(b": 2", b": 99999999") + b"\r\n"], wait_s=1)

    assert statuses == [100, 200]
    assert [response.status for response in unknown.responses] == [404]
    assert [response.status for response in large.responses] == [413]
    assert unknown.closed


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_an_early_refusal_is_read_by_a_client_that_goes_on_sending(served: Served, framing: str) -> None:
    gateway, _ = served
    lines = "Content-Length: 99999999" if framing == "length" else "Transfer-Encoding: chunked"
    head = f"POST / HTTP/1.1\r\nHost: a\r\n{lines}\r\n\r\n".encode()
    block = b"x" * 65_536 if framing == "length" else BLOCK

    for _ in range(10):
        with socket.create_connection(("127.0.0.1", gateway.port), timeout=10) as sock:

            def sends(sock: socket.socket = sock) -> None:
                with contextlib.suppress(OSError):
                    sock.sendall(head)
                    for _ in range(1500):
                        sock.sendall(block)

            sender = threading.Thread(target=sends)
            sender.start()
            data = b""
            with contextlib.suppress(ConnectionResetError):
                while piece := sock.recv(65_536):
                    data += piece
            sender.join()
        assert data.startswith(b"HTTP/1.1 413 ")
        assert json.loads(data.partition(b"\r\n\r\n")[2])["code"] == "payload_too_large"


def test_a_refused_head_request_gets_a_head(served: Served) -> None:
    gateway, _ = served

    conversation = talk(gateway.port, [b"HEAD /x HTTP/1.1\r\n\r\n"])

    assert conversation.data.startswith(b"HTTP/1.1 400 ")
    assert conversation.data.endswith(b"\r\n\r\n")


def test_a_refusal_names_the_path_it_refused(served: Served) -> None:
    gateway, _ = served

    conversation = talk(gateway.port, [b"POST /x?secret HTTP/1.1\r\n\r\n"])

    assert json.loads(conversation.responses[0].body)["instance"] == "/x"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param(b'{"a": ' + b"[" * 100_000, 200, id="nested-without-a-model"),
        pytest.param(b'{"model": "m", "a": ' + b"[" * 100_000, 400, id="nested-with-a-model"),
        pytest.param(b'{"model": "m@v1.0.0", "input": [' + b"1," * 400_000 + b"1]}", 200, id="large-with-a-selector"),
    ],
)
def test_odd_bodies_get_an_answer(served: Served, body: bytes, status: int) -> None:
    gateway, _ = served

    assert http(f"{gateway.url}/v1/embeddings", method="POST", body=body)[0] == status


# many at once ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_worker_that_answers_twice_poisons_nobody(served: Served) -> None:
    gateway, worker = served

    async def twice(turn: Turn) -> None:
        token = turn.seen.body
        answer = worker.head(200, "text/plain", framing=f"Content-Length: {len(token)}") + token
        await turn.write(answer + answer.replace(token, b"x" * len(token)))
        if token.endswith(b"7>"):
            await asyncio.sleep(0.002)
            await turn.write(answer)

    worker.handler = twice

    def one(number: int) -> None:
        token = b"<%d>" % number
        status, _, body = http(f"{gateway.url}/generate", method="POST", body=token)
        assert (status, body) == (200, token)

    with ThreadPoolExecutor(32) as threads:
        list(threads.map(one, range(600)))
