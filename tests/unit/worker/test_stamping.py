from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from inference_dna.serving.standing import Standing
from tests.support.standing import DIGESTS, ready_standing
from worker.stamping import stamping_protocol


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


def refused(loop: asyncio.AbstractEventLoop, standing: Standing, target: bytes | None = None) -> bytes:
    """What is written where a request cannot be read."""
    config = uvicorn.Config(lambda: None, log_config=None, lifespan="off")
    protocol = stamping_protocol(standing)(config, ServerState(), {}, loop)
    transport = _Transport()
    protocol.transport = transport
    if target is not None:
        protocol.url = target

    protocol.send_400_response("Invalid HTTP request received.")

    assert transport.closed
    return transport.written


def test_the_refusal_of_malformed_http_is_stamped_too(loop: asyncio.AbstractEventLoop) -> None:
    head, _, body = refused(loop, ready_standing()).partition(b"\r\n\r\n")

    lines = head.decode().split("\r\n")
    assert lines[0] == "HTTP/1.1 400 Bad Request"
    assert f"x-inference-dna: {DIGESTS.dna()}" in lines
    assert lines[-3:] == ["content-type: application/problem+json", f"content-length: {len(body)}", "connection: close"]
    problem = json.loads(body)
    assert (problem["code"], problem["detail"]) == ("bad_request", "Invalid HTTP request received.")


def test_the_refusal_is_in_the_words_of_the_family_where_the_target_could_be_read(
    loop: asyncio.AbstractEventLoop,
) -> None:
    body = refused(loop, ready_standing(), b"/v1/completions?a=b").partition(b"\r\n\r\n")[2]

    problem = json.loads(body)
    assert problem["instance"] == "/v1/completions"
    assert problem["error"]["type"] == "invalid_request_error"


def test_before_anything_is_measured_there_is_nothing_to_stamp(loop: asyncio.AbstractEventLoop) -> None:
    standing = Standing(ready_standing().served)

    assert b"x-inference" not in refused(loop, standing)
