"""Each example as a reader runs it: a real process, asked over its own protocol."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest

from inference_dna.digest import ALGORITHM
from inference_dna.inputs import hash_tokens
from inference_dna.manifest import Manifest, parse_manifest
from tests.support.manifests import write_folder
from tests.support.recorded_engine import VLLM, write_answers
from tests.support.tiny_causal import causal

ROOT = Path(__file__).parents[3]
START_S = 240
"""Three processes load PyTorch at once, maybe beside other tests."""
END_S = 20
ASKED = {"text": "abc", "max_new_tokens": 5}
IDS = [[0, 1, 2]]

pytestmark = [pytest.mark.models, pytest.mark.slow, pytest.mark.timeout(400)]


@dataclass(frozen=True)
class Servers:
    """The servers' addresses, what their manifest promises, and what their model answers."""

    fastapi: str
    flask: str
    grpc: str
    grpc_health: str
    promised: Manifest
    answer: str


def environment() -> dict[str, str]:
    """As a shell in which the environment of this repository is active."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # One thread each: so small a model has nothing for two, and five processes share the processors.
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}


def dna(*arguments: str | Path) -> None:
    done = subprocess.run(
        ["dna", *map(str, arguments)], env=environment(), cwd=ROOT, capture_output=True, text=True, timeout=START_S
    )
    assert done.returncode == 0, done.stderr


def free_port() -> int:
    """A port below those that the system gives to clients: it is still free when the example has loaded its model."""
    for port in random.sample(range(20_000, 30_000), 100):
        with socket.socket() as held, suppress(OSError):
            held.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


@contextmanager
def running(*command: str | Path, environ: dict[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([str(word) for word in command], env=environ or environment(), cwd=ROOT) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(END_S)
            process.kill()


def until(is_so: Callable[[], bool], *processes: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        assert all(process.poll() is None for process in processes), "an example ended"
        with suppress(httpx.TransportError):
            if is_so():
                return
        time.sleep(0.1)
    raise AssertionError("the examples were not ready in time")


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """All three at once, around one tiny model, by the commands of examples/README.md."""
    place = tmp_path_factory.mktemp("examples")
    model, manifest, key = place / "model", place / "manifest.json", place / "release.pem"
    network, tokenizer = causal()
    network.save_pretrained(model)
    tokenizer.save_pretrained(model)
    prompt = tokenizer("abc", return_tensors="pt")
    expected = tokenizer.decode(network.generate(**prompt, max_new_tokens=5)[0, 3:])
    dna("key", "new", key)
    named = ("--model-id", "tiny", "--version", "v1.0.0")
    dna("manifest", "--model", model, *named, "--sign", key, "--output", manifest)
    ports = [free_port() for _ in range(4)]
    given = (model, manifest, f"{key}.pub")
    urls = [f"http://127.0.0.1:{port}" for port in ports]
    with ExitStack() as stack:
        commands: list[list[str | Path]] = [
            ["examples/fastapi_server.py", *given, str(ports[0])],
            ["examples/flask_server.py", *given, str(ports[1])],
            ["examples/grpc_server.py", *given, str(ports[2]), str(ports[3])],
        ]
        started = [stack.enter_context(running(sys.executable, *command)) for command in commands]
        for url in (urls[0], urls[1], urls[3]):
            until(lambda url=url: httpx.get(f"{url}/healthz").status_code == 200, *started)  # type: ignore[misc]
        yield Servers(
            urls[0], urls[1], f"127.0.0.1:{ports[2]}", urls[3], parse_manifest(manifest.read_bytes()), expected
        )


def check_stamps(stamps: Any, promised: Manifest) -> None:
    input_hash, dna_of_none = hash_tokens(IDS), str(promised.dna)
    assert stamps["x-inference-input-hash"] == input_hash
    assert stamps["x-inference-digest"] == f"{ALGORITHM}{promised.digests['runtime']}"
    assert stamps["x-inference-dna"][:8] == dna_of_none[:8]
    assert stamps["x-inference-dna"][8:] != dna_of_none[8:]
    assert stamps["x-request-id"] == "r-1"
    assert (stamps["x-model-id"], stamps["x-model-version"]) == ("tiny", "v1.0.0")


@pytest.mark.parametrize("name", ["fastapi", "flask"])
def test_a_server_over_http_says_who_answered(name: str, servers: Servers) -> None:
    url = getattr(servers, name)
    answer = httpx.post(f"{url}/generate", json=ASKED, headers={"X-Request-ID": "r-1"})
    wrong = httpx.post(f"{url}/generate", json={**ASKED, "repetition_penalty": -1})
    unknown = httpx.post(f"{url}/generate", json={"text": "abc", "max_new_tokens": "many"})

    assert (answer.status_code, answer.json()) == (200, {"text": servers.answer})
    check_stamps(answer.headers, servers.promised)
    assert (wrong.status_code, unknown.status_code) == (422, 422)
    assert "repetition_penalty" in wrong.text
    assert "max_new_tokens" in unknown.text


@pytest.mark.parametrize("name", ["fastapi", "flask", "grpc_health"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_health_names_what_was_promised(method: str, name: str, servers: Servers) -> None:
    answer = httpx.request(method, f"{getattr(servers, name)}/healthz")

    assert (answer.status_code, answer.headers["x-inference-dna"]) == (200, servers.promised.dna)
    assert (answer.json()["status"] if method == "GET" else answer.content) == ("ok" if method == "GET" else b"")


def test_a_grpc_server_says_it_in_its_metadata(servers: Servers) -> None:
    with grpc.insecure_channel(servers.grpc) as channel:
        call: Any = channel.unary_unary(
            "/example.Generator/Generate",
            request_serializer=lambda asked: json.dumps(asked).encode(),
            response_deserializer=json.loads,
        )
        answer, told = call.with_call(ASKED, metadata=(("x-request-id", "r-1"),))
        with pytest.raises(grpc.RpcError, match="temperature must be a number from"):
            call({**ASKED, "temperature": "hot"})

    assert answer == {"text": servers.answer}
    check_stamps(dict(told.initial_metadata()), servers.promised)


@pytest.mark.parametrize("name", ["fastapi", "flask"])
def test_settings_of_one_request_are_not_found_by_the_next(name: str, servers: Servers) -> None:
    def ask(settings: dict[str, Any]) -> str:
        answer: str = httpx.post(f"{getattr(servers, name)}/generate", json=settings, timeout=60).json()["text"]
        return answer

    loud = {**ASKED, "repetition_penalty": 1.9}
    alone = ask(loud)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, [ASKED, loud] * 8))

    assert answers == [servers.answer, alone] * 8
    assert alone != servers.answer


def test_a_sidecar_attests_the_engine_beside_it(tmp_path: Path) -> None:
    model = write_folder(tmp_path / "v1.0.0", {"config.json": b"{}", "tokenizer.json": b"{}"})
    engine_port, port = free_port(), free_port()
    write_answers(tmp_path / "answers.json", VLLM, model)
    environ = {
        **environment(),
        "MODEL": str(model), "MODEL_ID": "llama", "VERSION": "v1.0.0",
        "RECORDED_ANSWERS": str(tmp_path / "answers.json"),
        "URL": f"http://127.0.0.1:{engine_port}", "LISTEN": f"127.0.0.1:{port}",
    }  # fmt: skip
    engine = (sys.executable, "-m", "tests.support.recorded_engine", "--port", str(engine_port))
    with running("sh", "examples/sidecar.sh", "vllm", *engine, environ=environ) as process:
        until(lambda: httpx.get(f"http://127.0.0.1:{port}/healthz").json()["model_id"] == "llama", process)
        until(lambda: httpx.get(f"http://127.0.0.1:{engine_port}/version").status_code == 200, process)
        health = httpx.get(f"http://127.0.0.1:{port}/healthz").json()

    assert health["version"] == "v1.0.0"
    for gone in (engine_port, port):
        with pytest.raises(httpx.TransportError):  # refused, or reset while it ends
            httpx.get(f"http://127.0.0.1:{gone}/")
