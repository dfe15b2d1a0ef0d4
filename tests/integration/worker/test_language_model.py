"""A real language model behind the real gateway, asked as its clients ask: `dna worker`, `dna gateway`, openai."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from inference_dna.dna import strand
from inference_dna.trust.pem import new_key_pair
from tests.support.gateway_process import GatewayProcess, write_documents
from tests.support.smollm2 import model_folder
from tests.support.worker_process import WorkerProcess, starting

pytestmark = [pytest.mark.models, pytest.mark.slow, pytest.mark.timeout(300)]

MODEL = "smollm2-135m-instruct"
DNA = ("-m", "gateway.cli.main")
QUESTION = {"model": MODEL, "messages": [{"role": "user", "content": "What is the capital of France?"}]}
STORY = {
    "model": MODEL,
    "messages": [{"role": "user", "content": "Write a long story about a lighthouse and the sea."}],
    "max_tokens": 2000,
    "stream": True,
}
SOON_S = 20
"""Far above what one token takes on an idle machine (25 ms), below the minute of a story; tests share processors."""


@dataclass
class Fleet:
    """A gateway, the worker behind it, which answers one request at a time, and the key of its receipts."""

    gateway: GatewayProcess
    worker: WorkerProcess
    client: httpx.Client
    key: Path

    def ask(self, path: str = "/v1/chat/completions", **members: Any) -> httpx.Response:
        return self.client.post(path, json={**QUESTION, **members})


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    folder = tmp_path_factory.mktemp("fleet")
    private, public = new_key_pair()
    (folder / "worker.pem").write_bytes(private)
    (folder / "worker.pem.pub").write_bytes(public)
    options = ["--backend", "transformers", "--model-id", MODEL, "--version", "v1.0.0", "--threads", "1"]
    key = ["--waiting", "0", "--receipt-key", str(folder / "worker.pem")]
    with starting() as start:
        worker = start(model_folder(), *options, *key, program=(*DNA, "worker", "--model"))
        health = worker.health()
        contract = {
            "model_id": MODEL,
            "version": "v1.0.0",
            "contract": {"behavioral_constraints": {"deterministic": True}},
            "dna": [{"dna": health["dna"], "digest": health["digest"]}],
            "instances": [f"http://127.0.0.1:{worker.port}"],
        }
        write_documents(folder / "documents", contract)
        with GatewayProcess(folder / "documents") as gateway, httpx.Client(base_url=gateway.url, timeout=60) as client:
            gateway.wait_verified(1)
            yield Fleet(gateway, worker, client, folder / "worker.pem.pub")


@pytest.fixture(scope="module")
def openai(fleet: Fleet) -> Iterator[Any]:
    """The client that most programs have; it asks the gateway, once."""
    from openai import OpenAI

    with OpenAI(base_url=f"{fleet.gateway.url}/v1", api_key="none", max_retries=0) as client:
        yield client


def verified(fleet: Fleet, answer: httpx.Response, body: bytes, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """What `dna receipt verify` says of an answer, saved as curl saves it."""
    head = "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
    (tmp_path / "head").write_text(f"HTTP/1.1 {answer.status_code} OK\r\n{head}\r\n")
    (tmp_path / "body").write_bytes(body)
    (tmp_path / "request").write_bytes(answer.request.read())
    words = ["receipt", "verify", "body", "--head", "head", "--request", "request", "--key", str(fleet.key)]
    return subprocess.run([sys.executable, *DNA, *words], capture_output=True, text=True, timeout=60, cwd=tmp_path)


# Answers --------------------------------------------------------------------------------------------------------------


def test_the_capital_of_france_is_paris_and_the_answer_says_who_gave_it(fleet: Fleet, tmp_path: Path) -> None:
    answer = fleet.ask()
    health = fleet.worker.health()

    assert "Paris" in answer.json()["choices"][0]["message"]["content"]
    assert answer.json()["usage"]["completion_tokens"] > 1
    assert answer.headers["x-inference-digest"] == health["digest"]
    assert answer.headers["x-inference-dna"][:8] == health["dna"][:8]
    assert (answer.headers["x-model-id"], answer.headers["x-model-version"]) == (MODEL, "v1.0.0")
    checked = verified(fleet, answer, answer.content, tmp_path)
    assert checked.stdout.startswith("valid: "), checked


def test_a_stream_says_paris_too_with_the_same_dna_before_its_first_byte(fleet: Fleet, tmp_path: Path) -> None:
    with fleet.client.stream("POST", "/v1/chat/completions", json={**QUESTION, "stream": True}) as stream:
        dna = stream.headers["x-inference-dna"]
        body = stream.read()
    lines = [line.removeprefix("data: ") for line in body.decode().splitlines() if line.startswith("data: {")]
    said = "".join(json.loads(line)["choices"][0]["delta"].get("content", "") for line in lines)
    whole = fleet.ask()

    assert said == whole.json()["choices"][0]["message"]["content"]
    assert "Paris" in said
    assert dna == whole.headers["x-inference-dna"]
    checked = verified(fleet, stream, body, tmp_path)
    assert checked.stdout.startswith("valid: "), checked


def test_the_strand_is_that_of_the_prompts_tokens(fleet: Fleet) -> None:
    sent = fleet.worker.client.post("/v1/chat/completions", json={**QUESTION, "max_tokens": 1}).headers

    runtime = sent["x-inference-digest"].removeprefix("sha256:")
    assert sent["x-inference-dna"][8:] == strand(runtime, sent["x-inference-input-hash"])


@pytest.mark.parametrize(
    ("path", "asking", "member"),
    [
        pytest.param(
            "/v1/completions", {"model": MODEL, "prompt": "1, 2, 3, 4,", "max_tokens": 4}, "text", id="openai"
        ),
        pytest.param(
            f"/v2/models/{MODEL}/versions/1.0.0/generate",
            {"text_input": "1, 2, 3, 4,", "parameters": {"max_new_tokens": 4}},
            "text_output",
            id="triton",
        ),
        pytest.param(
            f"/v2/models/{MODEL}/infer",
            {
                "inputs": [{"name": "text", "datatype": "BYTES", "shape": [1], "data": ["1, 2, 3, 4,"]}],
                "parameters": {"max_new_tokens": 4},
            },
            "data",
            id="open-inference",
        ),
        pytest.param("/v1.0.0/generate", {"text": "1, 2, 3, 4,", "max_new_tokens": 4}, "text", id="ours"),
    ],
)
def test_every_family_continues_a_text_alike(fleet: Fleet, path: str, asking: Any, member: str) -> None:
    answer = fleet.client.post(path, json=asking, headers={"X-Model-Id": MODEL})

    assert f'"{member}":' in answer.text
    assert " 5," in answer.text
    assert answer.headers["x-model-version"] == "v1.0.0"


def test_a_seed_gives_the_same_text_and_stop_ends_it(fleet: Fleet) -> None:
    def said(**members: Any) -> str:
        text: str = fleet.ask(max_tokens=8, **members).json()["choices"][0]["message"]["content"]
        return text

    assert said(temperature=1.5, seed=7) == said(temperature=1.5, seed=7) != said(temperature=1.5, seed=8)
    assert said(stop=" Paris") == "The capital of France is"
    assert "Paris" in said()


# openai ---------------------------------------------------------------------------------------------------------------


def test_openais_client_reads_answer_and_stamps(openai: Any) -> None:
    raw = openai.chat.completions.with_raw_response.create(**QUESTION, temperature=0, seed=1)
    answer = raw.parse()

    assert "Paris" in answer.choices[0].message.content
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    assert answer.system_fingerprint.removeprefix("fp_") in raw.headers["x-inference-digest"]


def test_openais_client_reads_a_stream_with_its_usage(openai: Any) -> None:
    with openai.chat.completions.create(**QUESTION, stream=True, stream_options={"include_usage": True}) as stream:
        *chunks, last = stream

    assert "Paris" in "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert (last.choices, last.usage.completion_tokens > 1) == ([], True)


def test_openais_client_reads_errors(openai: Any) -> None:
    from openai import NotFoundError, UnprocessableEntityError

    with pytest.raises(UnprocessableEntityError, match="temperature: must be at least 0 and at most 2") as refused:
        openai.chat.completions.create(**QUESTION, temperature=2.5)
    with pytest.raises(NotFoundError):
        openai.chat.completions.create(**{**QUESTION, "model": "gpt"})

    assert (refused.value.param, refused.value.type) == ("temperature", "invalid_request_error")
    assert refused.value.request_id


@pytest.mark.parametrize(
    ("members", "field"),
    [
        pytest.param({"max_tokens": 0}, "max_tokens", id="out-of-range"),
        pytest.param({"temperature": "hot"}, "temperature", id="wrong-type"),
        pytest.param({"logprobs": True}, "logprobs", id="not-supported"),
        pytest.param({"temprature": 0.5}, "temprature", id="unknown"),
    ],
)
def test_a_wrong_setting_is_422_through_the_gateway(fleet: Fleet, members: dict[str, Any], field: str) -> None:
    answer = fleet.ask(**members)

    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)
    assert answer.headers["x-inference-digest"] == fleet.worker.health()["digest"]


# Whoever leaves -------------------------------------------------------------------------------------------------------

_ASKS = """
import sys, time, httpx
while httpx.post(sys.argv[1], content=sys.argv[2], timeout=600).status_code == 429:
    time.sleep(0.05)
"""


@pytest.mark.parametrize("is_stream", [True, False], ids=["stream", "whole"])
def test_a_client_that_is_killed_frees_its_place_within_one_token(fleet: Fleet, is_stream: bool) -> None:
    asking = json.dumps({**STORY, "stream": is_stream})
    command = [sys.executable, "-c", _ASKS, f"{fleet.gateway.url}/v1/chat/completions", asking]
    with subprocess.Popen(command) as client:
        _until(lambda: _one_token(fleet) == httpx.codes.TOO_MANY_REQUESTS)
        time.sleep(1)
        assert fleet.worker.health()["status"] == "ok"
        assert _one_token(fleet) == httpx.codes.TOO_MANY_REQUESTS
        client.send_signal(signal.SIGKILL)

    _until(lambda: _one_token(fleet) == httpx.codes.OK)
    assert "Paris" in fleet.ask().text


def _one_token(fleet: Fleet) -> int:
    """Ask the worker itself for one token; gives the status."""
    return fleet.worker.client.post("/generate", json={"text": "1, 2,", "max_new_tokens": 1}).status_code


def _until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SOON_S
    while not is_so():
        assert time.monotonic() < deadline, "it did not become so"
        time.sleep(0.2)
