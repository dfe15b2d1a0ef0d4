"""An application around the middleware, behind the real gateway: verified, stamped, its receipts whole."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI, Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from inference_dna.inputs import hash_tokens
from inference_dna.middleware import InferenceDNA, told_tokens
from inference_dna.serving.receipt import ReceiptKey
from inference_dna.serving.receipt_check import Answer, Checked, Expected, Outcome, check_receipt
from inference_dna.serving.standing import Standing
from inference_dna.trust.keys import read_public_key
from inference_dna.trust.pem import new_key_pair
from tests.support.gateway_process import GatewayProcess, write_documents
from tests.support.manifests import SUBJECT
from tests.support.stamped_server import Lines, serving
from tests.support.standing import DIGESTS, ready_standing

PRIVATE, PUBLIC = new_key_pair()
QUESTION = b'{"text": "hello"}'
IDS = [[1, 2, 3]]
BREAK = threading.Event()


@dataclass
class Fleet:
    """A gateway with one worker, whose contract accepts what that worker is."""

    gateway: GatewayProcess
    standing: Standing
    client: httpx.Client


def build() -> FastAPI:
    app = FastAPI()

    @app.post("/generate")
    async def generate(request: Request) -> Response:
        await request.body()
        told_tokens(request.scope, IDS)
        return JSONResponse({"answer": 42})

    async def events() -> AsyncIterator[bytes]:
        for number in range(100):
            yield f"data: {number}\n\n".encode()
            if BREAK.is_set():
                raise RuntimeError("it broke in the middle")

    @app.post("/generate_stream")
    async def generate_stream(request: Request) -> Response:
        await request.body()
        told_tokens(request.scope, IDS)
        return StreamingResponse(events(), media_type="text/event-stream")

    return app


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    folder: Path = tmp_path_factory.mktemp("documents")
    standing = ready_standing()
    app = InferenceDNA(build(), standing, receipts=ReceiptKey(PRIVATE), write=Lines())
    with serving(app) as worker:
        contract = {
            "model_id": SUBJECT.model_id,
            "version": SUBJECT.version,
            "dna": [{"dna": DIGESTS.dna(), "digest": f"sha256:{DIGESTS.runtime}"}],
            "instances": [str(worker.base_url).rstrip("/")],
            "retries": 0,
        }
        write_documents(folder, contract)
        with GatewayProcess(folder) as gateway, httpx.Client(base_url=gateway.url, timeout=10) as client:
            fleet = Fleet(gateway, standing, client)
            gateway.wait_for(lambda: ask(fleet).status_code == httpx.codes.OK, what="the worker to be verified")
            yield fleet


def ask(fleet: Fleet, path: str = "/v2.4.0/generate", **headers: str) -> httpx.Response:
    return fleet.client.post(
        path, content=b'{"text": "hello"}', headers={"Content-Type": "application/json", **headers}
    )


def judged(answer: httpx.Response, content: bytes | None = None, nonce: str | None = None) -> Checked:
    headers = {name.lower(): value for name, value in answer.headers.items()}
    body = answer.content if content is None else content
    expected = Expected(QUESTION, nonce)
    key = read_public_key(PUBLIC)
    return check_receipt(Answer(headers, body, answer.status_code), [key], now=datetime.now(UTC), expected=expected)


def test_the_gateway_verifies_it_and_shows_its_identity(fleet: Fleet) -> None:
    answer = ask(fleet, **{"X-Request-ID": "r-1"})

    assert answer.json() == {"answer": 42}
    assert answer.headers["x-inference-dna"] == DIGESTS.dna(hash_tokens(IDS))
    assert answer.headers["x-inference-input-hash"] == hash_tokens(IDS)[:12]
    assert answer.headers["x-request-id"] == "r-1"


def test_a_receipt_comes_through_the_gateway_whole(fleet: Fleet) -> None:
    answer = ask(fleet, **{"X-Inference-Nonce": "n-1"})
    found = judged(answer, nonce="n-1")

    assert (found.outcome, found.reason) == (Outcome.VALID, "signature, body and identity agree")


@pytest.mark.parametrize("comments", [{}, {"X-Inference-Stream-DNA": "comment"}], ids=["plain", "with-comments"])
def test_the_receipt_of_a_stream_comes_through_whole(comments: dict[str, str], fleet: Fleet) -> None:
    answer = ask(fleet, "/v2.4.0/generate_stream", **comments)

    assert judged(answer).outcome is Outcome.VALID
    assert judged(answer, answer.content.replace(b"data: 7\n", b"data: 8\n")).outcome is Outcome.INVALID


def test_a_stream_that_broke_off_stays_unverified(fleet: Fleet) -> None:
    received = b""
    BREAK.set()
    path = "/v2.4.0/generate_stream"
    with (
        fleet.client.stream("POST", path, content=QUESTION) as answer,
        contextlib.suppress(httpx.RemoteProtocolError),
    ):
        for piece in answer.iter_raw():
            received += piece
    BREAK.clear()

    assert received.startswith(b"data: 0\n")
    assert judged(answer, received).outcome is Outcome.UNVERIFIED


def test_a_worker_in_which_something_changed_is_out_of_rotation(fleet: Fleet) -> None:
    fleet.standing.changed("An adapter was loaded.")

    fleet.gateway.wait_for(lambda: ask(fleet).status_code == httpx.codes.SERVICE_UNAVAILABLE, what="it to leave")
