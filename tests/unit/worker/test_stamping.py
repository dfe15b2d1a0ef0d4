from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from inference_dna.dna import strand
from inference_dna.measure.healthz import Served
from worker.demo.recipes import BUNDLES
from worker.lifecycle import Lifecycle
from worker.stamping import Stamped, Stamps, stamping_protocol

INPUT_HASH = "5" * 64


@pytest.fixture(scope="module")
def ready() -> Lifecycle:
    lifecycle = Lifecycle()
    lifecycle.load(BUNDLES / "v2.3.1", {})
    return lifecycle


def stamped(lifecycle: Lifecycle, served: Served, *headers: tuple[bytes, bytes]) -> list[tuple[bytes, bytes]]:
    """The headers of an answer after an application that sends these."""
    sent: list[Message] = []

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": list(headers)})
        await send({"type": "http.response.body", "body": b"body"})

    async def receive() -> Message:
        raise AssertionError("nobody reads")

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(Stamped(app, Stamps(lifecycle, served))({"type": "http"}, receive, send))
    assert sent[1]["body"] == b"body"
    result: list[tuple[bytes, bytes]] = sent[0]["headers"]
    return result


def test_an_answer_without_input_carries_the_dna_of_the_empty_input(ready: Lifecycle, served: Served) -> None:
    assert ready.state.loaded is not None
    digests = ready.state.loaded.genome.digests

    assert stamped(ready, served, (b"content-type", b"text/plain")) == [
        (b"content-type", b"text/plain"),
        (b"x-inference-dna", digests.dna().encode()),
        (b"x-inference-digest", f"sha256:{digests.runtime}".encode()),
        (b"x-model-id", b"intent-classifier"),
        (b"x-model-version", b"v2.4.0"),
        (b"x-inference-assurance", b"full-hash"),
    ]


def test_the_strand_follows_from_the_input_hash_which_stands_once(ready: Lifecycle, served: Served) -> None:
    assert ready.state.loaded is not None
    headers = stamped(ready, served, (b"x-inference-input-hash", INPUT_HASH.encode()))

    assert [name for name, _ in headers].count(b"x-inference-input-hash") == 1
    expected = strand(ready.state.loaded.genome.digests.runtime, INPUT_HASH)
    assert dict(headers)[b"x-inference-dna"][8:] == expected.encode()


def test_before_anything_is_measured_there_is_nothing_to_stamp(served: Served) -> None:
    assert stamped(Lifecycle(), served) == []


class _Transport(asyncio.Transport):
    """Keeps what was written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = False

    def write(self, data: Any) -> None:
        self.written += data

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    made.close()


def test_the_refusal_of_malformed_http_is_stamped_too(loop: asyncio.AbstractEventLoop) -> None:
    import uvicorn
    from uvicorn.server import ServerState

    config = uvicorn.Config(lambda: None, log_config=None, lifespan="off")
    protocol = stamping_protocol(lambda: [(b"x-inference-dna", b"0123456789abcdef")])(config, ServerState(), {}, loop)
    transport = _Transport()
    protocol.transport = transport

    protocol.send_400_response("Invalid HTTP request received.")

    head, _, body = transport.written.partition(b"\r\n\r\n")
    assert head.split(b"\r\n") == [
        b"HTTP/1.1 400 Bad Request",
        b"x-inference-dna: 0123456789abcdef",
        b"content-type: text/plain; charset=utf-8",
        b"content-length: 30",
        b"connection: close",
    ]
    assert body == b"Invalid HTTP request received."
    assert transport.closed
