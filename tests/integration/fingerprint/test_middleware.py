"""The middleware around real applications on a real server."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Request
from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from inference_dna.inputs import hash_bytes, hash_request, hash_tokens
from inference_dna.middleware import InferenceDNA, told_hash, told_log, told_tokens
from inference_dna.serving.receipt import ReceiptKey
from inference_dna.serving.receipt_check import Answer, Expected, Outcome, check_receipt
from inference_dna.serving.standing import Standing
from inference_dna.trust.keys import read_public_key
from inference_dna.trust.pem import new_key_pair
from tests.support.stamped_server import Lines, serving
from tests.support.standing import DIGESTS, ready_standing

PRIVATE, PUBLIC = new_key_pair()
IDS = [[101, 7, 102]]
QUESTION = {"text": "hello", "temperature": 0.5}


class Gate:
    """Lets a test say when a stream goes on, and see whether the application noticed that its client left."""

    def __init__(self) -> None:
        self.open, self.left = threading.Event(), threading.Event()

    async def wait(self) -> None:
        await asyncio.to_thread(self.open.wait, 10)


def build(gate: Gate) -> FastAPI:
    app = FastAPI()
    add_answers(app)
    add_streams(app, gate)
    return app


def add_answers(app: FastAPI) -> None:

    @app.post("/tokens")
    async def tokens(request: Request) -> Response:
        await request.json()
        told_tokens(request.scope, IDS)
        told_log(request.scope, temperature=0.5)
        return JSONResponse({"answer": 42})

    @app.post("/by-header")
    async def by_header(request: Request) -> Response:
        await request.body()
        return JSONResponse({}, headers={"X-Inference-Input-Hash": "c" * 64, "X-Inference-DNA": "f" * 16})

    @app.post("/body")
    async def body(request: Request) -> Response:
        await request.body()
        return JSONResponse({"answer": 42})

    @app.post("/unread")
    async def unread() -> Response:
        return JSONResponse({"answer": 42})

    @app.post("/refuses")
    async def refuses(request: Request) -> Response:
        await request.body()
        return JSONResponse({"detail": "no"}, 422)

    @app.get("/fails")
    async def fails() -> Response:
        raise RuntimeError("it broke")

    @app.post("/changes")
    async def changes(request: Request) -> Response:
        await request.body()
        request.app.state.standing.changed("Weights were loaded while it answered.")
        return JSONResponse({"answer": 42})

    @app.post("/fails-and-changes")
    async def fails_and_changes(request: Request) -> Response:
        request.app.state.standing.changed("An adapter was written to while it answered.")
        return PlainTextResponse("the adapter was written to", 500)


def add_streams(app: FastAPI, gate: Gate) -> None:
    async def events() -> AsyncIterator[bytes]:
        yield b"data: 1\n\n"
        await gate.wait()
        yield b": a comment of the worker's own\n"
        yield b"data: 2\n\n"

    @app.post("/stream")
    async def stream(request: Request) -> Response:
        await request.body()
        told_tokens(request.scope, IDS)
        return StreamingResponse(events(), media_type="text/event-stream")

    async def breaking() -> AsyncIterator[bytes]:
        yield b"data: 1\n\n"
        raise RuntimeError("it broke in the middle")

    @app.post("/breaks")
    async def breaks(request: Request) -> Response:
        await request.body()
        return StreamingResponse(breaking(), media_type="text/event-stream")

    async def endless() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"data: more\n\n"
                await asyncio.sleep(0.005)
        finally:
            gate.left.set()

    @app.get("/endless")
    async def endless_stream() -> Response:
        return StreamingResponse(endless(), media_type="text/event-stream")

    async def lines() -> AsyncIterator[bytes]:
        yield b"one"
        yield b"two"

    @app.post("/chunks")
    async def chunks(request: Request) -> Response:
        await request.body()
        return StreamingResponse(lines(), media_type="application/octet-stream")


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def standing() -> Standing:
    return ready_standing()


@pytest.fixture
def lines() -> Lines:
    return Lines()


@pytest.fixture
def client(gate: Gate, standing: Standing, lines: Lines) -> Iterator[httpx.Client]:
    app = build(gate)
    app.state.standing = standing
    app.add_middleware(InferenceDNA, standing=standing, receipts=ReceiptKey(PRIVATE), write=lines)
    with serving(app) as made:
        yield made


def outcome(answer: httpx.Response, request_body: bytes | None = None, nonce: str | None = None) -> Outcome:
    headers = {name.lower(): value for name, value in answer.headers.items()}
    found = check_receipt(
        Answer(headers, answer.content, answer.status_code),
        [read_public_key(PUBLIC)],
        now=datetime.now(UTC),
        expected=Expected(request_body, nonce),
    )
    return found.outcome


def test_an_answer_is_stamped_by_what_the_application_fed_to_the_model(client: httpx.Client) -> None:
    answer = client.post("/tokens", json=QUESTION)

    assert answer.json() == {"answer": 42}
    assert answer.headers["x-inference-input-hash"] == hash_tokens(IDS)
    assert answer.headers["x-inference-dna"] == DIGESTS.dna(hash_tokens(IDS))
    assert answer.headers["x-inference-digest"] == f"sha256:{DIGESTS.runtime}"
    assert (answer.headers["x-model-id"], answer.headers["x-model-version"]) == ("bert-base-chinese", "v2.4.0")


def test_the_log_line_is_one_json_object_equal_to_the_headers(client: httpx.Client, lines: Lines) -> None:
    answer = client.post("/tokens", json=QUESTION, headers={"X-Request-ID": "r-1"})
    line = lines.last()

    assert len(lines.texts) == 1
    assert line["event"] == "INFERENCE_DNA"
    assert line["request_id"] == answer.headers["x-request-id"] == "r-1"
    assert line["dna"] == answer.headers["x-inference-dna"]
    assert line["input_hash"] == answer.headers["x-inference-input-hash"]
    assert (line["model_id"], line["version"]) == ("bert-base-chinese", "v2.4.0")
    assert line["gpu_name"] == "NVIDIA A100-SXM4-40GB"
    assert (line["temperature"], line["status"], line["complete"]) == (0.5, 200, True)


@pytest.mark.parametrize("sent", [None, "not good", "x" * 129])
def test_a_request_without_a_good_id_gets_one(sent: str | None, client: httpx.Client) -> None:
    headers = {} if sent is None else {"X-Request-ID": sent}

    assert len(client.post("/body", json={}, headers=headers).headers["x-request-id"]) == 32


def test_what_the_application_says_by_header_counts_and_its_own_dna_does_not(client: httpx.Client) -> None:
    answer = client.post("/by-header", json=QUESTION)

    assert answer.headers.get_list("x-inference-input-hash") == ["c" * 64]
    assert answer.headers.get_list("x-inference-dna") == [DIGESTS.dna("c" * 64)]


@pytest.mark.parametrize(
    ("content", "media_type", "expected"),
    [
        pytest.param(b'{"text": "a", "user": "u"}', "application/json", hash_request(b'{"text":"a"}'), id="json"),
        pytest.param(b"\0\1", "application/octet-stream", hash_bytes("application/octet-stream", b"\0\1"), id="bytes"),
        pytest.param(b'{"a": 1, "a": 2}', "application/json", None, id="no-strict-json"),
        pytest.param(b"--x", "multipart/form-data; boundary=x", None, id="multipart"),
        pytest.param(b" " * (1024 * 1024 + 1), "application/octet-stream", None, id="too-large"),
        pytest.param(b"", "application/json", None, id="empty"),
    ],
)
def test_without_a_word_of_the_application_the_body_is_hashed(
    content: bytes, media_type: str, expected: str | None, client: httpx.Client
) -> None:
    answer = client.post("/body", content=content, headers={"Content-Type": media_type})

    assert answer.headers.get("x-inference-input-hash") == expected
    assert answer.headers["x-inference-dna"] == DIGESTS.dna(expected or "")


@pytest.mark.parametrize("path", ["/refuses", "/unread"])
def test_a_body_that_was_refused_or_not_read_is_no_input(path: str, client: httpx.Client) -> None:
    answer = client.post(path, json=QUESTION)

    assert "x-inference-input-hash" not in answer.headers
    assert answer.headers["x-inference-dna"] == DIGESTS.dna()


def test_what_a_framework_answers_by_itself_is_stamped(client: httpx.Client) -> None:
    assert client.get("/nowhere").headers["x-inference-dna"] == DIGESTS.dna()
    assert client.get("/body").status_code == 405


def test_around_the_whole_application_its_failures_are_stamped_too(lines: Lines) -> None:
    with serving(InferenceDNA(build(Gate()), ready_standing(), write=lines)) as client:
        answer = client.get("/fails")

    assert answer.status_code == 500
    assert answer.headers["x-inference-dna"] == DIGESTS.dna()
    assert lines.last()["status"] == 500


# health ---------------------------------------------------------------------------------------------------------------


def test_health_says_the_same_to_get_and_head(client: httpx.Client, lines: Lines) -> None:
    got, headed = client.get("/healthz"), client.head("/healthz")

    assert (got.status_code, headed.status_code) == (200, 200)
    assert got.json()["status"] == "ok"
    assert got.json()["dna"] == got.headers["x-inference-dna"] == headed.headers["x-inference-dna"] == DIGESTS.dna()
    assert headed.content == b""
    assert headed.headers["content-length"] == got.headers["content-length"]
    assert client.post("/healthz").status_code == 405
    assert lines.texts == []


def test_from_a_change_until_measured_again_nothing_is_answered(client: httpx.Client, standing: Standing) -> None:
    before = client.get("/healthz").json()["boot_id"]
    standing.changed("An adapter was loaded.")
    health, answer = client.get("/healthz"), client.post("/body", json={})

    assert (health.status_code, client.head("/healthz").status_code) == (503, 503)
    assert (health.json()["status"], health.json()["reason"]) == ("loading", "An adapter was loaded.")
    assert health.json()["boot_id"] != before
    assert (answer.status_code, answer.json()["code"], answer.headers["retry-after"]) == (503, "not_ready", "1")
    assert "x-inference-dna" not in answer.headers


def test_an_answer_during_which_something_changed_is_not_given(client: httpx.Client, lines: Lines) -> None:
    answer = client.post("/changes", json={})

    assert answer.status_code == 503
    assert b"42" not in answer.content
    assert lines.last()["status"] == 503


def test_a_failure_during_which_something_changed_is_given_without_stamps(client: httpx.Client) -> None:
    answer = client.post("/fails-and-changes", json={})

    assert (answer.status_code, answer.text) == (500, "the adapter was written to")
    assert not any(name.startswith("x-") for name in answer.headers)


# streams --------------------------------------------------------------------------------------------------------------


def test_events_arrive_when_they_are_sent(client: httpx.Client, gate: Gate) -> None:
    with client.stream("POST", "/stream", json=QUESTION) as answer:
        assert answer.headers["x-inference-dna"] == DIGESTS.dna(hash_tokens(IDS))
        pieces = answer.iter_raw()
        assert next(pieces) == b"data: 1\n\n"  # the second event is not made yet: nothing was held back
        gate.open.set()
        rest = b"".join(pieces)

    assert b"data: 2\n\n: dna-receipt " in rest
    assert rest.endswith(b"\n")
    assert not rest.endswith(b"\n\n")


def test_a_whole_stream_has_a_valid_receipt(client: httpx.Client, gate: Gate) -> None:
    gate.open.set()
    body = json.dumps(QUESTION).encode()
    headers = {"Content-Type": "application/json", "X-Inference-Nonce": "n-1"}
    answer = client.post("/stream", content=body, headers=headers)

    assert outcome(answer, body, "n-1") is Outcome.VALID
    assert outcome(answer, b"{}") is Outcome.INVALID
    assert outcome(answer, body, "n-2") is Outcome.INVALID


def test_a_stream_that_broke_off_has_no_receipt(client: httpx.Client, lines: Lines) -> None:
    received = b""
    with client.stream("POST", "/breaks", json=QUESTION) as answer:
        pieces = answer.iter_raw()
        received += next(pieces)
        with pytest.raises(httpx.RemoteProtocolError):
            next(pieces)

    copy = httpx.Response(200, headers=answer.headers, content=received)
    copy.headers.pop("content-length", None)
    assert received == b"data: 1\n\n"
    assert outcome(copy) is Outcome.UNVERIFIED
    assert lines.last()["complete"] is False


def test_a_client_that_leaves_is_seen_by_the_application(client: httpx.Client, gate: Gate, lines: Lines) -> None:
    with client.stream("GET", "/endless") as answer:
        next(answer.iter_raw())

    assert gate.left.wait(10)
    assert lines.last()["complete"] is False


def test_a_stream_during_which_something_changed_has_no_receipt(
    client: httpx.Client, gate: Gate, standing: Standing
) -> None:
    with client.stream("POST", "/stream", json=QUESTION) as answer:
        pieces = answer.iter_raw()
        next(pieces)
        standing.changed("Weights were loaded.")
        gate.open.set()
        rest = b"".join(pieces)

    assert b"receipt" not in rest


# receipts of other answers --------------------------------------------------------------------------------------------


def test_an_answer_of_known_length_carries_its_receipt_in_the_head(client: httpx.Client) -> None:
    body = json.dumps(QUESTION).encode()
    answer = client.post("/tokens", content=body, headers={"Content-Type": "application/json"})

    assert outcome(answer, body) is Outcome.VALID
    assert outcome(client.get("/nowhere")) is Outcome.VALID


@pytest.mark.parametrize("path", ["/chunks", "/unread"])
def test_what_cannot_be_signed_has_no_receipt(path: str, client: httpx.Client) -> None:
    answer = client.post(path, json=QUESTION)

    assert answer.status_code == 200
    assert outcome(answer) is Outcome.UNVERIFIED


def test_without_a_key_nothing_is_signed(lines: Lines) -> None:
    app = build(Gate())
    app.add_middleware(InferenceDNA, standing=ready_standing(), write=lines)
    with serving(app) as client:
        assert outcome(client.post("/body", json={})) is Outcome.UNVERIFIED


# the same in other applications ---------------------------------------------------------------------------------------


async def plain(request: Any) -> Response:
    told_hash(request.scope, "d" * 64)
    return PlainTextResponse("hello")


def test_starlette_needs_the_same_three_lines(lines: Lines) -> None:
    app = Starlette(routes=[Route("/", plain)])
    app.add_middleware(InferenceDNA, standing=ready_standing(), write=lines)
    with serving(app) as client:
        answer = client.get("/")

    assert (answer.text, answer.headers["x-inference-dna"]) == ("hello", DIGESTS.dna("d" * 64))


def test_many_requests_at_once_do_not_mix(client: httpx.Client) -> None:
    seen: dict[int, tuple[str, str]] = {}

    def ask(number: int) -> None:
        answer = client.post("/body", json={"number": number}, headers={"X-Request-ID": f"r-{number}"})
        seen[number] = answer.headers["x-request-id"], answer.headers["x-inference-input-hash"]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert seen == {number: (f"r-{number}", hash_request(f'{{"number":{number}}}')) for number in range(40)}


def test_time_in_a_receipt_is_now(client: httpx.Client) -> None:
    import jwt

    receipt = client.post("/body", json={}).headers["x-inference-receipt"]
    stated = jwt.decode(receipt, PUBLIC, algorithms=["EdDSA"], options={"verify_iat": False})

    assert abs(stated["iat"] - time.time()) < 60
