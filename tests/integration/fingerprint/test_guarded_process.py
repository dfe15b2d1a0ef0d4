"""A worker process around the guard: either it never listens, or it answers with what was promised."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from inference_dna.inputs import hash_request
from inference_dna.making.manifest_text import manifest_text
from inference_dna.making.measurers import Asked, measure
from inference_dna.manifest import parse_manifest
from inference_dna.measure.unasked import AT_REST
from inference_dna.trust.pem import new_key_pair
from inference_dna.trust.signing import sign_ed25519
from tests.support.manifests import write_folder

REPOSITORY = Path(__file__).parents[3]
START_S = 20
WORKER = """
import sys
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from inference_dna import guard
from inference_dna.making.measurers import Asked, measure
from inference_dna.measure.unasked import AT_REST
from inference_dna.middleware import InferenceDNA

manifest, model, key, port = sys.argv[1:]
app = FastAPI()


@app.post("/generate")
async def generate(body: dict) -> dict:
    return {"answer": body}


worker = guard.Worker(measure=lambda bind: measure(Asked(Path(model), AT_REST)).genome)
app.add_middleware(InferenceDNA, standing=guard.require(manifest, worker, trust=[key]))
uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="critical")
"""


class Place:
    """A model with a signed manifest, a worker program, and a free port."""

    def __init__(self, root: Path) -> None:
        private, public = new_key_pair()
        self.model = write_folder(root / "model", {"model.onnx.txt": b"weights", "config.json": b"{}"})
        self.program, self.key, self.manifest = root / "worker.py", root / "key.pub", root / "manifest.json"
        self.program.write_text(WORKER)
        self.key.write_bytes(public)
        self.private = private
        self.sign()
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]

    def sign(self) -> None:
        from inference_dna.manifest import Subject, build_manifest

        measured = measure(Asked(self.model, AT_REST))
        document = build_manifest(
            measured.genome,
            subject=Subject("m", "v1.0.0"),
            created_at="2025-01-31T12:00:00Z",
            assurance=measured.assurance,
        )
        self.manifest.write_text(manifest_text(sign_ed25519(document, self.private)))

    def start(self) -> subprocess.Popen[str]:
        arguments = [self.manifest, self.model, self.key, self.port]
        command = [sys.executable, str(self.program), *map(str, arguments)]
        environ = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ, cwd=REPOSITORY
        )

    def until_listening(self, process: subprocess.Popen[str]) -> None:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            assert process.poll() is None, process.stderr.read() if process.stderr else ""
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise AssertionError("the worker never listened")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_worker_that_is_what_was_promised_answers_with_it(place: Place) -> None:
    process = place.start()
    try:
        place.until_listening(process)
        health = httpx.get(f"http://127.0.0.1:{place.port}/healthz")
        answer = httpx.post(f"http://127.0.0.1:{place.port}/generate", json={"text": "a"})
    finally:
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=START_S)
    promised = parse_manifest(place.manifest.read_bytes())

    assert health.json()["dna"] == promised.dna
    assert answer.headers["x-inference-digest"] == f"sha256:{promised.digests['runtime']}"
    line = json.loads(out.splitlines()[0])
    assert line["input_hash"] == answer.headers["x-inference-input-hash"] == hash_request(b'{"text":"a"}')
    assert line["gpu_name"] == "cpu"


def ended(place: Place) -> tuple[int, str]:
    """Let a worker end by itself, and see at every moment that nothing listens."""
    process = place.start()
    listened = False
    while process.poll() is None:
        with socket.socket() as client:
            listened = listened or client.connect_ex(("127.0.0.1", place.port)) == 0
        time.sleep(0.01)
    _, err = process.communicate(timeout=START_S)
    assert not listened
    return process.returncode, err


@pytest.mark.parametrize(
    ("name", "tells"),
    [
        pytest.param("model.onnx.txt", "file model.onnx.txt changed", id="weights"),
        pytest.param("modeling_extra.py", "file modeling_extra.py added", id="a-file-too-many"),
        pytest.param("generation_config.json", "postprocess", id="post-processing"),
    ],
)
def test_a_worker_that_is_something_else_never_listens(name: str, tells: str, place: Place) -> None:
    write_folder(place.model, {name: b'{"temperature": 0.9}'})
    code, err = ended(place)

    assert code == 86
    assert "SECTION" in err
    assert tells in err
    assert "Traceback" not in err


def test_a_manifest_signed_by_another_never_lets_it_listen(place: Place) -> None:
    place.private = new_key_pair()[0]
    place.sign()
    code, err = ended(place)

    assert code == 87
    assert "is not trusted" in err
