"""Engines that cannot run here: a real process with a real HTTP server that gives the answers of such engines.

`python -m tests.support.recorded_engine --port P` reads the file that the variable RECORDED_ANSWERS names anew for
every request, so a test can change what the engine says. Token ids are the bytes of the text.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
START_S = 15
_ANSWERS = "RECORDED_ANSWERS"
_WANTED = "RECORDED_AUTHORIZATION"


def ids_of(text: str) -> list[int]:
    return list(text.encode())


VLLM: dict[str, Any] = {
    "GET /version": {"version": "0.11.0"},
    "GET /v1/models": {"data": [{"id": "llama", "root": "MODEL", "parent": None, "max_model_len": 8192}]},
    "POST /v1/completions": {
        "choices": [{"text": " Paris"}],
        "usage": {"prompt_tokens": 24},
        "system_fingerprint": "vllm-0.11.0-tp8-a3b21f94",
    },
    "POST /tokenize": "tokens",
}
SGLANG: dict[str, Any] = {
    "GET /get_model_info": {
        "model_path": "MODEL",
        "tokenizer_path": "MODEL",
        "is_generation": True,
        "preferred_sampling_params": None,
        "weight_version": "default",
    },
    "GET /server_info": {"version": "0.5.2", "dtype": "bfloat16", "internal_states": [{}]},
    "POST /v1/completions": {"choices": [{"text": " Paris"}]},
}
TGI: dict[str, Any] = {
    "GET /info": {
        "model_id": "org/m",
        "model_sha": "abc",
        "model_dtype": "float16",
        "model_device_type": "cuda",
        "version": "2.4.0",
        "sha": "def",
        "docker_label": "sha-def",
    },
    "POST /tokenize": "tgi",
    "POST /generate": {"generated_text": " Paris"},
}
TRITON: dict[str, Any] = {
    "GET /v2": {"name": "triton", "version": "2.30.0", "extensions": ["classification"]},
    "POST /v2/repository/index": [{"name": "bert", "version": "1", "state": "READY"}],
    "GET /v2/models/bert": {"name": "bert"},
    "GET /v2/models/bert/config": {"name": "bert", "max_batch_size": 8},
}
LLAMACPP: dict[str, Any] = {
    "GET /props": {
        "model_path": "MODEL",
        "build_info": "b8681-abc1234",
        "total_slots": 4,
        "chat_template": "{{ messages }}",
        "default_generation_settings": {"n_ctx": 8192, "id_task": -1, "temperature": 0.8},
    },
    "POST /tokenize": "tokens",
    "POST /apply-template": {"prompt": "<s>rendered"},
    "POST /v1/completions": {"choices": [{"text": " Paris"}], "system_fingerprint": "b6119-cd6983d56"},
}
LLAMA_CPP_PYTHON: dict[str, Any] = {
    "GET /v1/models": {"object": "list", "data": [{"id": "MODEL/m.gguf", "object": "model", "owned_by": "me"}]},
    "GET /openapi.json": {
        "info": {"title": "llama.cpp Python API", "version": "0.3.36"},
        "components": {
            "schemas": {
                "CreateChatCompletionRequest": {
                    "properties": {"messages": {"default": []}, "temperature": {"default": 0.8}, "stop": {}}
                },
                "CreateCompletionRequest": {
                    "properties": {"prompt": {}, "temperature": {"default": 0.8}, "max_tokens": {"default": 16}}
                },
            }
        },
    },
    "POST /extras/tokenize": "tokens",
    "POST /v1/completions": {"choices": [{"text": " Paris"}], "usage": {"prompt_tokens": 5}},
}
ANSWERS: Mapping[str, Mapping[str, Any]] = {
    "vllm": VLLM,
    "sglang": SGLANG,
    "tgi": TGI,
    "triton": TRITON,
    "llamacpp": LLAMACPP,
    "llama-cpp-python": LLAMA_CPP_PYTHON,
}


def write_answers(path: Path, answers: Mapping[str, Any], model: Path) -> None:
    text = json.dumps(answers).replace('"MODEL"', json.dumps(str(model)))
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)


@contextmanager
def engine_process(
    answers: Path, port: int, *arguments: str, environ: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run an engine until the end of the block, or until the test ends it."""
    command = [sys.executable, "-m", "tests.support.recorded_engine", "--port", str(port), *arguments]
    variables = {**os.environ, _ANSWERS: str(answers), **(environ or {})}
    with subprocess.Popen(command, cwd=ROOT, env=variables) as process:
        try:
            _wait(port, process)
            yield process
        finally:
            process.kill()


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        assert process.poll() is None, "the engine ended"
        with suppress(urllib.error.URLError, ConnectionError):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).close()
            except urllib.error.HTTPError as error:
                error.close()
                return
        time.sleep(0.02)
    raise AssertionError("the engine does not answer")


def _tokens(form: str, asked: Mapping[str, Any]) -> Any:
    text = asked.get("prompt") or asked.get("content") or asked.get("inputs") or ""
    if "messages" in asked:
        text = "".join(message["content"] for message in asked["messages"])
    if form == "tgi":
        return [{"id": token, "text": "", "start": 0, "stop": 0} for token in ids_of(text)]
    return {"count": len(text), "tokens": ids_of(text)}


class _Handler(BaseHTTPRequestHandler):
    answers: Path

    def do_GET(self) -> None:
        self._answer({})

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self, asked: Mapping[str, Any]) -> None:
        if self.headers["Authorization"] != os.environ.get(_WANTED):
            self.send_error(401)
            return
        known = json.loads(self.answers.read_text(encoding="utf-8"))
        answer = known.get(f"{self.command} {self.path}")
        if isinstance(answer, str):
            answer = _tokens(answer, asked)
        status = 404 if answer is None else 200
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    handler = type("Handler", (_Handler,), {"answers": Path(os.environ[_ANSWERS])})
    port = int(sys.argv[sys.argv.index("--port") + 1])
    ThreadingHTTPServer(("127.0.0.1", port), handler).serve_forever()


if __name__ == "__main__":
    main()
