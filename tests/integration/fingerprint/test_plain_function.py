"""The same stamps without ASGI: a WSGI application, as Flask's are, on a real server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import httpx
import pytest

from inference_dna.inputs import hash_tokens
from inference_dna.serving.receipt import HEADER, ReceiptKey
from inference_dna.serving.receipt_check import Answer, Expected, Outcome, check_receipt
from inference_dna.serving.stamp import Exchanged, health_answer, stamp
from inference_dna.trust.keys import read_public_key
from inference_dna.trust.pem import new_key_pair
from tests.support.stamped_server import Lines
from tests.support.standing import DIGESTS, ready_standing

PRIVATE, PUBLIC = new_key_pair()
STANDING, KEY, LINES = ready_standing(), ReceiptKey(PRIVATE), Lines()
IDS = [[5, 6]]


class Quiet(WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    """What a handler of one's own would do around its model."""
    method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
    if path == "/healthz":
        status, headers, body = health_answer(STANDING, method)
        start_response(f"{status.value} {status.phrase}", headers)
        return [body]
    question = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"] or 0))
    body = b'{"answer": 42}'
    stamped = stamp(STANDING, input_hash=hash_tokens(IDS), request_id=environ.get("HTTP_X_REQUEST_ID"), write=LINES)
    receipt = stamped.receipt(KEY, Exchanged.of(method, path, question, body))
    start_response("200 OK", [*stamped.headers, (HEADER, receipt), ("content-type", "application/json")])
    return [body]


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    server = make_server("127.0.0.1", 0, application, handler_class=Quiet)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    with httpx.Client(base_url=f"http://127.0.0.1:{server.server_port}", timeout=10) as made:
        yield made
    server.shutdown()
    server.server_close()


def test_an_answer_is_stamped_logged_and_signed(client: httpx.Client) -> None:
    answer = client.post("/generate", content=b"question", headers={"X-Request-ID": "r-1"})
    headers = {name.lower(): value for name, value in answer.headers.items()}
    key = read_public_key(PUBLIC)
    sent = Answer(headers, answer.content, 200)
    found = check_receipt(sent, [key], now=datetime.now(UTC), expected=Expected(b"question"))

    assert answer.headers["x-inference-dna"] == DIGESTS.dna(hash_tokens(IDS)) == LINES.last()["dna"]
    assert answer.headers["x-request-id"] == LINES.last()["request_id"] == "r-1"
    assert found.outcome is Outcome.VALID


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_health_is_a_function_too(method: str, client: httpx.Client) -> None:
    answer = client.request(method, "/healthz")

    assert (answer.status_code, answer.headers["x-inference-dna"]) == (200, DIGESTS.dna())
