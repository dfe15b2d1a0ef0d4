"""Answers pass on as they arrive; a client that leaves frees the worker; a cut answer looks cut."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Iterator

import pytest

from tests.support.gateway_process import GatewayProcess, http, running, write_documents
from tests.support.raw import parse_responses, request, talk
from tests.support.stub_worker import StubWorker, Turn, answer_json, contract_for


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[GatewayProcess, StubWorker]]:
    folder = tmp_path_factory.mktemp("documents")
    with StubWorker(seed="a") as worker:
        write_documents(folder, contract_for(worker))
        with running(folder, probe_interval=1) as gateway:
            gateway.wait_verified(1)
            yield gateway, worker


@pytest.fixture(autouse=True)
def _honest_again(served: tuple[GatewayProcess, StubWorker]) -> Iterator[None]:
    yield
    gateway, worker = served
    worker.handler = answer_json
    gateway.wait_verified(1, timeout_s=60)


def event(text: str) -> bytes:
    data = f"data: {text}\n\n".encode()
    return b"%x\r\n%b\r\n" % (len(data), data)


def test_each_event_arrives_when_it_is_sent(served: tuple[GatewayProcess, StubWorker]) -> None:
    gateway, worker = served

    async def four_a_second(turn: Turn) -> None:
        await turn.write(worker.head(200, "text/event-stream"))
        for number in range(6):
            await turn.write(event(f"{number} {time.time()}"))
            await asyncio.sleep(0.25)
        await turn.write(b"0\r\n\r\n")

    worker.handler = four_a_second
    delays: list[float] = []
    events_by_read = []
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=10) as sock:
        sock.sendall(request("POST", "/generate_stream", "Accept-Encoding: gzip", body=b"{}"))
        data = b""
        while b"0\r\n\r\n" not in data:
            piece = sock.recv(65536)
            now = time.time()
            events_by_read.append(piece.count(b"data: "))
            data += piece
            delays += [now - float(line.split()[2]) for line in piece.split(b"\n") if line.startswith(b"data: ")]

    answer = parse_responses(data, closed=False)[0]
    assert len(delays) == 6
    assert max(delays) < 0.15
    assert [events for events in events_by_read if events] == [1] * 6
    assert answer.header("x-accel-buffering") == "no"
    assert answer.header("x-inference-dna") == worker.digests.dna()


def test_a_head_alone_goes_on_at_once(served: tuple[GatewayProcess, StubWorker]) -> None:
    gateway, worker = served

    async def thinks(turn: Turn) -> None:
        await turn.write(worker.head(200, "text/event-stream"))
        await asyncio.sleep(1.0)
        await turn.write(event("late") + b"0\r\n\r\n")

    worker.handler = thinks
    started = time.monotonic()
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=10) as sock:
        sock.sendall(request("POST", "/generate_stream", body=b"{}"))
        first = sock.recv(65536)

    assert first.startswith(b"HTTP/1.1 200")
    assert time.monotonic() - started < 0.5


@pytest.mark.parametrize("phase", ["before-the-head", "mid-stream", "not-a-stream"])
@pytest.mark.parametrize("how", ["fin", "rst"])
def test_a_client_that_leaves_closes_the_upstream_at_once(
    served: tuple[GatewayProcess, StubWorker], phase: str, how: str
) -> None:
    gateway, worker = served
    gone_at: list[float] = []

    async def slow(turn: Turn) -> None:
        if phase == "mid-stream":
            await turn.write(worker.head(200, "text/event-stream") + event("first"))
        await turn.client_gone()
        gone_at.append(time.monotonic())

    worker.handler = slow
    before = len(worker.seen)
    sock = socket.create_connection(("127.0.0.1", gateway.port), timeout=10)
    sock.sendall(request("POST", "/generate" if phase == "not-a-stream" else "/generate_stream", body=b"{}"))
    if phase == "mid-stream":
        assert sock.recv(65536)
    wait_until(lambda: len(worker.seen) > before)
    if how == "rst":
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    left_at = time.monotonic()
    sock.close()
    wait_until(lambda: bool(gone_at))

    assert gone_at[0] - left_at < 0.5
    gateway.wait_for(lambda: gateway.status()["instances"][0]["in_flight"] == 0, what="an empty flight")


@pytest.mark.parametrize("how", ["close", "reset"])
def test_a_stream_that_dies_ends_with_an_error_event_and_no_last_chunk(
    served: tuple[GatewayProcess, StubWorker], how: str
) -> None:
    gateway, worker = served

    async def dies(turn: Turn) -> None:
        await turn.write(worker.head(200, "text/event-stream") + event("one") + event("two"))
        await asyncio.sleep(0.2)
        if how == "reset":
            turn.reset()
        turn.close = True

    worker.handler = dies
    conversation = talk(gateway.port, [request("POST", "/v1/chat/completions", body=b'{"stream": true}')], wait_s=5)

    (answer,) = conversation.responses
    assert conversation.closed
    assert not answer.complete
    assert answer.body.startswith(b"data: one\n\ndata: two\n\n")
    assert b"upstream_truncated" in answer.body
    assert not conversation.data.endswith(b"0\r\n\r\n")


def test_a_cut_inside_an_event_gets_no_error_event(served: tuple[GatewayProcess, StubWorker]) -> None:
    gateway, worker = served

    async def dies(turn: Turn) -> None:
        await turn.write(worker.head(200, "text/event-stream") + event("one") + b"6\r\ndata: \r\n")
        await asyncio.sleep(0.2)
        turn.close = True

    worker.handler = dies
    (answer,) = talk(gateway.port, [request("POST", "/generate_stream", body=b"{}")], wait_s=5).responses

    assert answer.body == b"data: one\n\ndata: "
    assert not answer.complete


@pytest.mark.parametrize("framing", ["chunked", "length"])
def test_a_truncated_answer_never_looks_complete(served: tuple[GatewayProcess, StubWorker], framing: str) -> None:
    gateway, worker = served

    async def dies(turn: Turn) -> None:
        if framing == "chunked":
            await turn.write(worker.head(200, "application/json") + b'10\r\n{"a": 1')
        else:
            await turn.write(worker.head(200, "application/json", framing="Content-Length: 100") + b'{"a": 1')
        turn.close = True

    worker.handler = dies
    conversation = talk(gateway.port, [request("POST", "/generate", body=b"{}")], wait_s=5)

    assert conversation.closed
    assert [answer.complete for answer in conversation.responses if answer.status == 200] in ([False], [])


@pytest.mark.parametrize("status", [400, 404, 422, 429, 500])
def test_a_workers_own_error_keeps_status_type_and_body(served: tuple[GatewayProcess, StubWorker], status: int) -> None:
    gateway, worker = served

    async def refuses(turn: Turn) -> None:
        body = b'{"error": "mine"}'
        await turn.write(worker.head(status, "application/x-mine", framing=f"Content-Length: {len(body)}") + body)

    worker.handler = refuses
    got, headers, body = http(gateway.url + "/generate", method="POST", body=b"{}")

    assert (got, headers["content-type"], body) == (status, "application/x-mine", b'{"error": "mine"}')
    assert headers["x-inference-dna"] == worker.digests.dna()


def test_any_method_path_and_body_pass(served: tuple[GatewayProcess, StubWorker]) -> None:
    gateway, worker = served
    body = bytes(range(256)) * 8192

    for method in ("GET", "PUT", "PATCH", "DELETE", "OPTIONS"):
        status, _, _ = http(gateway.url + f"/any/{method}?q=1", method=method, body=body if method == "PUT" else None)
        assert status == 200
        assert worker.seen[-1].line == f"{method} /any/{method}?q=1 HTTP/1.1".encode()
        if method == "PUT":
            assert worker.seen[-1].body == body


def test_head_has_the_head_and_no_body(served: tuple[GatewayProcess, StubWorker]) -> None:
    gateway, worker = served

    async def head_only(turn: Turn) -> None:
        await turn.write(worker.head(200, "application/json", framing="Content-Length: 17"))

    worker.handler = head_only
    conversation = talk(gateway.port, [request("HEAD", "/x"), request("HEAD", "/y", close=True)], gap_s=0.3, wait_s=3)

    assert conversation.data.count(b"HTTP/1.1 200") == 2
    assert conversation.data.endswith(b"\r\n\r\n")
    assert b"content-length: 17" in conversation.data


def test_a_stalled_reader_holds_a_bounded_amount(served: tuple[GatewayProcess, StubWorker]) -> None:
    gateway, worker = served
    written = 0

    async def floods(turn: Turn) -> None:
        nonlocal written
        block = b"x" * 65536
        await turn.write(worker.head(200, "application/octet-stream"))
        for _ in range(4096):
            await turn.write(b"10000\r\n" + block + b"\r\n")
            written += len(block)

    worker.handler = floods
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=10) as sock:
        sock.sendall(request("POST", "/generate", body=b"{}"))
        sock.recv(1024)
        time.sleep(1.5)
        first = written
        time.sleep(1.0)
        assert written == first
        assert written < 32 * 1024 * 1024

    gateway.wait_for(lambda: gateway.status()["instances"][0]["in_flight"] == 0, what="an empty flight")


def test_http_1_0_gets_a_close_delimited_answer(served: tuple[GatewayProcess, StubWorker]) -> None:
    gateway, _ = served

    conversation = talk(gateway.port, [b"POST /generate HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}"], wait_s=3)

    (answer,) = conversation.responses
    assert conversation.closed
    assert answer.header("transfer-encoding") is None
    assert json.loads(answer.body)["path"] == "/generate"


def wait_until(condition: object, timeout_s: float = 5.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)
