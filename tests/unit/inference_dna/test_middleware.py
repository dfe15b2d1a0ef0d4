"""What the middleware does with messages no test server sends; all else is in tests/integration/fingerprint."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from inference_dna.middleware import InferenceDNA
from inference_dna.serving.asgi import App, Message, Receive, Scope, Send
from inference_dna.serving.receipt import ReceiptKey
from inference_dna.trust.pem import new_key_pair
from tests.support.standing import DIGESTS, ready_standing

KEY = ReceiptKey(new_key_pair()[0])


def exchanged(app: App, scope: Scope, *, receipts: ReceiptKey | None = None) -> tuple[list[Message], list[str]]:
    """Run one exchange; gives what was sent and the log lines."""
    sent: list[Message] = []
    lines: list[str] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    wrapped = InferenceDNA(app, ready_standing(), receipts=receipts, write=lines.append)
    asyncio.run(wrapped(scope, receive, send))
    return sent, lines


def sending(messages: Sequence[Message]) -> App:
    async def app(_scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        for message in messages:
            await send(message)

    return app


def http(method: str = "GET", version: str = "1.1") -> dict[str, Any]:
    return {"type": "http", "method": method, "path": "/", "headers": [], "http_version": version}


START = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]}
BODY = {"type": "http.response.body", "body": b"ok"}


def test_a_websocket_is_stamped_where_it_is_accepted() -> None:
    sent, lines = exchanged(
        sending([{"type": "websocket.accept"}, {"type": "websocket.close"}]), {"type": "websocket", "path": "/"}
    )

    assert dict(sent[0]["headers"])[b"x-inference-dna"] == DIGESTS.dna().encode()
    assert sent[1] == {"type": "websocket.close"}
    assert lines == []


def test_a_lifespan_passes_through() -> None:
    sent, lines = exchanged(sending([{"type": "lifespan.startup.complete"}]), {"type": "lifespan"})

    assert (sent, lines) == ([{"type": "lifespan.startup.complete"}], [])


def test_a_file_sent_by_its_path_is_stamped_and_not_signed() -> None:
    by_path = {"type": "http.response.pathsend", "path": "/x"}
    sent, _ = exchanged(sending([START, by_path]), http(), receipts=KEY)

    assert [message["type"] for message in sent] == ["http.response.start", "http.response.pathsend"]
    assert b"x-inference-dna" in dict(sent[0]["headers"])
    assert b"x-inference-receipt" not in dict(sent[0]["headers"])


@pytest.mark.parametrize(
    ("method", "version", "headers", "is_signed"),
    [
        pytest.param("GET", "1.1", [], True, id="whole"),
        pytest.param("GET", "2", [], True, id="http-2"),
        pytest.param("HEAD", "1.1", [], False, id="head"),
        pytest.param("GET", "1.1", [(b"content-encoding", b"gzip")], False, id="coded"),
    ],
)
def test_what_is_signed(method: str, version: str, headers: list[tuple[bytes, bytes]], is_signed: bool) -> None:
    start = {**START, "headers": [*START["headers"], *headers]}  # type: ignore[misc]
    sent, _ = exchanged(sending([start, BODY]), http(method, version), receipts=KEY)

    assert (b"x-inference-receipt" in dict(sent[0]["headers"])) is is_signed


def test_a_body_in_pieces_is_not_waited_for() -> None:
    first, last = {**BODY, "body": b"o", "more_body": True}, {**BODY, "body": b"k"}
    sent, _ = exchanged(sending([START, first, last]), http(), receipts=KEY)

    assert [message.get("body") for message in sent] == [None, b"o", b"k"]
    assert b"x-inference-receipt" not in dict(sent[0]["headers"])


def test_a_stream_that_ends_within_a_line_gets_the_line_end_and_a_receipt() -> None:
    start = {**START, "headers": [(b"content-type", b"text/event-stream")]}
    sent, _ = exchanged(sending([start, {**BODY, "body": b"data: 1"}]), http(), receipts=KEY)

    assert sent[1]["body"].startswith(b"data: 1\n: dna-receipt ")


def test_an_application_that_fails_before_it_answers_leaves_a_line() -> None:
    async def app(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise RuntimeError("it broke")

    lines: list[str] = []
    wrapped = InferenceDNA(app, ready_standing(), write=lines.append)
    with pytest.raises(RuntimeError):
        asyncio.run(wrapped(http(), lambda: asyncio.sleep(0, {}), lambda _message: asyncio.sleep(0)))

    assert '"status": null' in lines[0]


def test_headers_of_the_application_in_capitals_are_replaced_too() -> None:
    start = {**START, "headers": [(b"X-Inference-DNA", b"0" * 16), (b"Content-Length", b"2")]}
    sent, _ = exchanged(sending([start, BODY]), http())
    names = [name.lower() for name, _ in sent[0]["headers"]]

    assert names.count(b"x-inference-dna") == 1
