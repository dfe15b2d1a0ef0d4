from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest

from inference_dna.measure.healthz import Served
from inference_dna.middleware import InferenceDNA
from inference_dna.serving.standing import Standing
from tests.support.stamped_server import Lines
from worker.app import build_app
from worker.bundle import read_manifest
from worker.demo.recipes import BUNDLES
from worker.lane import Lane
from worker.lifecycle import Lifecycle
from worker.loader import Loader
from worker.readiness import Demands
from worker.surface.surroundings import Surroundings

Result = TypeVar("Result")


@dataclass
class Clock:
    """Seconds since some moment."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def lifecycle(served: Served) -> Lifecycle:
    clock = Clock()
    lifecycle = Lifecycle(Standing(served, clock=clock, new_boot_id=lambda: "b" * 32))
    clock.now = 12.9
    return lifecycle


@pytest.fixture
def around(lifecycle: Lifecycle) -> Surroundings:
    """A worker that is still loading."""
    return Surroundings(lifecycle.standing, lambda: lifecycle.state.loaded, Lane(threads=1, waiting=1))


@pytest.fixture
def ready(around: Surroundings, lifecycle: Lifecycle) -> Surroundings:
    lifecycle.load(Loader(BUNDLES / "v2.4.0"), {}, Demands(noted=read_manifest(BUNDLES / "v2.4.0")))
    return around


def told(around: Surroundings, story: Callable[[httpx.AsyncClient], Awaitable[Result]]) -> Result:
    """Run a story with a client of the application."""

    async def run() -> Result:
        transport = httpx.ASGITransport(InferenceDNA(build_app(around), around.standing, write=Lines()))
        async with httpx.AsyncClient(transport=transport, base_url="http://worker") as client:
            return await story(client)

    return asyncio.run(run())


def asked(around: Surroundings, path: str, method: str = "POST", **options: Any) -> httpx.Response:
    return told(around, lambda client: client.request(method, path, **options))


def test_a_message_is_answered_with_the_hash_of_its_input(ready: Surroundings) -> None:
    response = asked(ready, "/generate", json={"text": "我的快递怎么还没到"})

    assert response.status_code == 200
    assert response.json()["intent"] == "delivery_late"
    assert len(response.json()["top"]) == 3
    assert len(response.headers["x-inference-input-hash"]) == 64


def test_a_stream_is_server_sent_events_with_the_hash_of_the_same_input(ready: Surroundings) -> None:
    stream = asked(ready, "/generate_stream", json={"text": "Where is my order?"})
    whole = asked(ready, "/generate", json={"text": "Where is my order?"})

    assert stream.headers["content-type"].startswith("text/event-stream")
    assert stream.text.count("event: candidate\n") == 3
    assert stream.text.count("event: answer\n") == 1
    assert stream.headers["x-inference-input-hash"] == whole.headers["x-inference-input-hash"]


@pytest.mark.parametrize("path", ["/generate", "/generate_stream"])
def test_wrong_input_has_no_input_hash(ready: Surroundings, path: str) -> None:
    response = asked(ready, path, json={"txt": "hi"})

    assert response.status_code == 422
    assert "x-inference-input-hash" not in response.headers


def test_a_ready_worker_says_what_it_is(ready: Surroundings) -> None:
    digests = ready.loaded().genome.digests
    response = asked(ready, "/healthz", "GET")

    assert response.status_code == 200
    assert response.json() | {"hardware": None, "framework": None} == {
        "status": "ok",
        "dna": digests.dna(),
        "digest": f"sha256:{digests.runtime}",
        "model_id": "intent-classifier",
        "version": "v2.4.0",
        "model_fingerprint": f"sha256:{digests.weights}",
        "tokenizer_fingerprint": f"sha256:{digests.tokenizer}",
        "postprocess_fingerprint": f"sha256:{digests.postprocess}",
        "hardware": None,
        "framework": None,
        "boot_id": "b" * 32,
        "uptime_seconds": 12,
        "format": "inference-dna/1",
        "assurance": "full-hash",
        "bind": [],
        "framework_fingerprint": f"sha256:{digests.framework}",
        "hardware_fingerprint": f"sha256:{digests.hardware}",
        "manifest": "agrees",
    }


def test_head_is_get_without_the_body(ready: Surroundings) -> None:
    assert asked(ready, "/healthz", "HEAD").status_code == 200


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_worker_that_loads_is_503(around: Surroundings, method: str) -> None:
    assert asked(around, "/healthz", method).status_code == 503


def test_a_worker_that_loads_says_so_and_states_no_identity(around: Surroundings) -> None:
    body = asked(around, "/healthz", "GET").json()

    assert (body["status"], body["reason"]) == ("loading", "The bundle is being read.")
    assert "dna" not in body


def test_a_worker_that_failed_to_load_says_why(
    around: Surroundings, lifecycle: Lifecycle, copied: Callable[..., Path]
) -> None:
    lifecycle.load(Loader(copied(postprocess_json="{}")), {})
    response = asked(around, "/healthz", "GET")

    assert response.status_code == 503
    assert "exactly the members" in response.json()["reason"]


@pytest.mark.parametrize("path", ["/generate", "/generate_stream"])
def test_nothing_is_answered_before_the_worker_is_ready(around: Surroundings, path: str) -> None:
    response = asked(around, path, json={"text": "hi"})

    assert (response.status_code, response.json()["code"]) == (503, "not_ready")
    assert response.headers["retry-after"] == "1"


def test_above_its_places_the_worker_answers_429(ready: Surroundings) -> None:
    slow = replace(ready, delay_s=0.3)

    async def crowd(client: httpx.AsyncClient) -> list[httpx.Response]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(client.post("/generate", json={"text": "hi"})) for _ in range(5)]
        return [task.result() for task in tasks]

    answers = told(slow, crowd)

    assert sorted(answer.status_code for answer in answers) == [200, 200, 429, 429, 429]
    saturated = next(answer for answer in answers if answer.status_code == 429)
    assert (saturated.json()["code"], saturated.headers["retry-after"]) == ("saturated", "1")
    assert asked(slow, "/generate", json={"text": "hi"}).status_code == 200


def test_a_delay_changes_no_answer(ready: Surroundings) -> None:
    prompt, slow = (asked(around, "/generate", json={"text": "hi"}) for around in (ready, replace(ready, delay_s=0.01)))

    assert prompt.json() == slow.json()
    assert prompt.headers["x-inference-input-hash"] == slow.headers["x-inference-input-hash"]


def test_healthz_answers_while_inference_is_saturated(ready: Surroundings) -> None:
    slow = replace(ready, delay_s=0.3)

    async def story(client: httpx.AsyncClient) -> tuple[httpx.Response, bool]:
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(client.post("/generate", json={"text": "hi"}))
            health = await client.get("/healthz")
            return health, asking.done()

    health, was_done = told(slow, story)

    assert health.status_code == 200
    assert not was_done


def test_requests_at_once_get_what_each_gets_alone(ready: Surroundings) -> None:
    texts = ["退款", "发票", "hello", "I forgot my password", "my package is late", "优惠券不能用"] * 5
    wide = replace(ready, lane=Lane(threads=4, waiting=100))
    alone = [asked(wide, "/generate", json={"text": text}).json() for text in texts]

    async def crowd(client: httpx.AsyncClient) -> list[Any]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(client.post("/generate", json={"text": text})) for text in texts]
        return [task.result().json() for task in tasks]

    assert told(wide, crowd) == alone


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions", "/v2/models/intent-classifier/generate"])
def test_a_classifier_writes_no_text_and_says_what_to_ask_instead(ready: Surroundings, path: str) -> None:
    response = asked(ready, path, json={})

    assert (response.status_code, response.json()["code"]) == (404, "no_language_model")
    assert "ask POST /generate" in str(response.json()["error"])


def test_a_classifier_answers_tensors(ready: Surroundings) -> None:
    texts = ["我的快递怎么还没到", "Where is my order?"]
    asking = {"inputs": [{"name": "text", "datatype": "BYTES", "shape": [2], "data": texts}]}
    response = asked(ready, "/v2/models/intent-classifier/infer", json=asking)
    alone = [asked(ready, "/generate", json={"text": text}).json() for text in texts]

    intents, confidences = response.json()["outputs"]
    assert intents["data"] == [answer["intent"] for answer in alone]
    assert confidences["data"] == [answer["confidence"] for answer in alone]


def test_one_text_has_one_dna_whatever_path_it_came_by(ready: Surroundings) -> None:
    tensor = {"name": "text", "datatype": "BYTES", "shape": [1], "data": ["退款"]}
    infer = asked(ready, "/v2/models/intent-classifier/infer", json={"id": "7", "inputs": [tensor]})
    generate = asked(ready, "/generate", json={"text": "退款"})

    assert infer.headers["x-inference-dna"] == generate.headers["x-inference-dna"]


def test_a_classifier_has_no_settings(ready: Surroundings) -> None:
    tensor = {"name": "text", "datatype": "BYTES", "shape": [1], "data": ["退款"]}
    asking = {"inputs": [tensor], "parameters": {"temperature": 2}}
    response = asked(ready, "/v2/models/intent-classifier/infer", json=asking)

    assert (response.status_code, response.json()["errors"][0]["field"]) == (422, "parameters.temperature")


def test_the_surface_describes_itself(ready: Surroundings) -> None:
    document = asked(ready, "/openapi.json", "GET").json()
    schemas = document["components"]["schemas"]

    assert document["paths"].keys() >= {"/generate", "/generate_stream", "/v1/chat/completions", "/v1/models"}
    body = document["paths"]["/generate"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    named = [reference["$ref"].removeprefix("#/components/schemas/") for reference in body["anyOf"]]
    assert [schemas[name]["required"] for name in named] == [["text"], ["text"]]
    assert schemas["ChatAsking"]["properties"]["messages"]["items"]["$ref"] == "#/components/schemas/ChatMessage"
    assert "ChatMessage" in schemas
