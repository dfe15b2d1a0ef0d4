"""What an engine tells that is not whole, or that needs a word from the one who asks."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from inference_dna.attest.answers import Address, Answers
from inference_dna.attest.engines import engine_named
from inference_dna.canonical import Refused
from tests.support.recorded_engine import ANSWERS, LLAMA_CPP_PYTHON, LLAMACPP, SGLANG, TGI, TRITON, VLLM

TWO = {"data": [{"id": "a", "root": "a"}, {"id": "b", "root": "b"}, {"id": "l", "root": "/l", "parent": "a"}]}
LOADED = {"data": [{"id": "m", "status": {"value": "loaded"}}, {"id": "n", "status": {"value": "unloaded"}}]}


@contextmanager
def answering(pages: Mapping[str, Any]) -> Iterator[Answers]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = pages.get(f"{self.command} {self.path}")
            body = json.dumps(page).encode()
            self.send_response(404 if page is None else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield Answers(Address("127.0.0.1", server.server_address[1]), 5)
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("engine", "pages", "says"),
    [
        pytest.param("vllm", {}, "no list of models", id="vllm-without-models"),
        pytest.param("vllm", {**VLLM, "GET /version": {}}, "its version at /version", id="vllm-without-version"),
        pytest.param("vllm", {**VLLM, "GET /v1/models": TWO}, "lists the models a, b, l", id="vllm-with-two-models"),
        pytest.param("sglang", {}, "its model at /get_model_info", id="sglang"),
        pytest.param("sglang", {**SGLANG, "GET /server_info": None}, "its version", id="sglang-without-server-info"),
        pytest.param("tgi", {**TGI, "GET /info": {}}, "its version at /info", id="tgi"),
        pytest.param("triton", {"GET /v2": TRITON["GET /v2"]}, "models none ready", id="triton-without-models"),
        pytest.param("llamacpp", {}, "its build at /props", id="llamacpp"),
        pytest.param("llama-cpp-python", {}, "no list of models", id="llama-cpp-python"),
        pytest.param(
            "llama-cpp-python",
            {**LLAMA_CPP_PYTHON, "GET /openapi.json": {}},
            "does not tell at /openapi.json",
            id="llama-cpp-python-without-description",
        ),
        pytest.param("transformers", {}, "models none loaded", id="transformers-without-models"),
    ],
)
def test_an_engine_that_does_not_tell_is_refused(engine: str, pages: Mapping[str, Any], says: str) -> None:
    with answering(pages) as answers, pytest.raises(Refused, match=says):
        engine_named(engine).tell(answers, None)


def test_of_several_models_one_is_named() -> None:
    with answering({**VLLM, "GET /v1/models": TWO}) as answers:
        told = engine_named("vllm").tell(answers, "b")

    assert (told.model, told.root, told.adapters) == ("b", "b", {"l": "/l"})


def test_llama_cpp_python_tells_in_the_description_of_its_routes_what_a_request_gets() -> None:
    with answering(LLAMA_CPP_PYTHON) as answers:
        told = engine_named("llama-cpp-python").tell(answers, None)

    assert told.values == {
        "CreateChatCompletionRequest": {"temperature": 0.8, "stop": None},
        "CreateCompletionRequest": {"temperature": 0.8, "max_tokens": 16},
    }
    assert told.root == "MODEL/m.gguf"


def test_vllm_in_its_development_mode_tells_how_it_holds_the_weights() -> None:
    resolved = {"vllm_config": {"model_config": {"dtype": "torch.bfloat16"}}, "system_env": {"cuda": "12.8"}}
    with answering({**VLLM, "GET /server_info?config_format=json": resolved}) as answers:
        told = engine_named("vllm").tell(answers, None)

    assert told.dtype == "bfloat16"
    assert told.evidence["system_env"] == {"cuda": "12.8"}


@pytest.mark.parametrize("value", [{"dtype": "auto"}, {}])
def test_a_precision_that_was_only_asked_for_is_not_told(value: Mapping[str, Any]) -> None:
    with answering({**SGLANG, "GET /server_info": {"version": "0.5.2", **value}}) as answers:
        assert engine_named("sglang").tell(answers, None).dtype is None


def test_only_a_model_in_memory_is_served() -> None:
    with answering({"GET /v1/models": LOADED}) as answers:
        engine = engine_named("transformers")

        assert engine.tell(answers, None).model == "m"
        assert engine.labels(answers) == ["m"]


@pytest.mark.parametrize(
    ("engine", "changed"),
    [
        ("vllm", {"GET /v1/models": TWO}),
        ("sglang", {"GET /get_model_info": {**SGLANG["GET /get_model_info"], "weight_version": "2"}}),
        ("tgi", {"GET /info": {**TGI["GET /info"], "model_sha": "new"}}),
        ("triton", {"POST /v2/repository/index": [{"name": "bert", "version": "2", "state": "READY"}]}),
        ("llamacpp", {"GET /props": {**LLAMACPP["GET /props"], "chat_template": "new"}}),
        ("llama-cpp-python", {"GET /v1/models": {"data": [{"id": "/other.gguf"}]}}),
    ],
)
def test_other_weights_show_in_the_labels(engine: str, changed: Mapping[str, Any]) -> None:
    asked = engine_named(engine)
    with answering(ANSWERS[engine]) as before, answering({**ANSWERS[engine], **changed}) as after:
        assert asked.labels(before) == asked.labels(before)
        assert asked.labels(before) != asked.labels(after)


def test_a_model_that_does_not_complete_is_no_golden_answer() -> None:
    with answering({}) as answers, pytest.raises(Refused, match="did not answer one token"):
        engine_named("vllm").golden(answers, "m")
