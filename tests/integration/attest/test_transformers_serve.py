"""A real engine: `transformers serve` with a real model, attested by the command, seen by the gateway."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.gateway_process import GatewayProcess, free_port, write_documents
from tests.support.smollm2 import copy_folder

pytestmark = [pytest.mark.models, pytest.mark.slow, pytest.mark.timeout(400)]

START_S = 120
SERVE = "from transformers.cli.transformers import main; main()"


@dataclass
class Attested:
    """An engine, its attestor, and the folder that the engine has loaded."""

    model: Path
    engine_port: int
    port: int
    engine: subprocess.Popen[bytes]

    def ask(self, method: str = "GET") -> tuple[int, dict[str, str], dict[str, Any]]:
        """Status, headers in small letters, and body of `/healthz`."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/healthz", method=method)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                status, headers, body = answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                status, headers, body = error.code, error.headers, error.read()
        small = {name.lower(): value for name, value in headers.items()}
        return status, small, json.loads(body) if body else {}

    def health(self) -> dict[str, Any]:
        return self.ask()[2]

    def until(self, is_so: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        deadline, document = time.monotonic() + START_S, {}
        while time.monotonic() < deadline:
            try:
                document = self.health()
            except OSError:
                document = {}
            if document and is_so(document):
                return document
            time.sleep(0.1)
        raise AssertionError(f"it did not come to that: {document}")


def start_engine(model: Path, port: int) -> subprocess.Popen[bytes]:
    words = ["serve", str(model), "--port", str(port), "--host", "127.0.0.1", "--device", "cpu"]
    return subprocess.Popen([sys.executable, "-c", SERVE, *words])


def end(engine: subprocess.Popen[bytes]) -> None:
    engine.kill()
    engine.wait()


@contextmanager
def attested(model: Path) -> Iterator[Attested]:
    engine_port, port = free_port(), free_port()
    with ExitStack() as stack:
        engine = start_engine(model, engine_port)
        held = Attested(model, engine_port, port, engine)
        stack.callback(lambda: end(held.engine))
        options = {
            "--engine": "transformers", "--pid": engine.pid, "--model": model, "--model-id": "smollm2",
            "--version": "v1.0.0", "--url": f"http://127.0.0.1:{engine_port}", "--listen": f"127.0.0.1:{port}",
            "--interval": 0.2,
        }  # fmt: skip
        words = [str(word) for option in options.items() for word in option]
        command = [sys.executable, "-m", "gateway.cli.main", "attest", *words]
        attestor = stack.enter_context(subprocess.Popen(command))
        stack.callback(attestor.kill)
        yield held
        attestor.send_signal(signal.SIGTERM)
        assert attestor.wait(20) == 0


def test_a_real_engine_is_attested_through_restart_and_update(tmp_path: Path) -> None:
    model = copy_folder(tmp_path / "model")
    with attested(model) as held:
        first = held.until(lambda document: document["status"] == "ok")
        _is_whole(held, first)
        _gateway_sees(held, first, tmp_path / "documents")

        end(held.engine)
        dropped = held.health()
        assert dropped["status"] == "pending"
        assert dropped["boot_id"] != first["boot_id"]

        held.engine = start_engine(model, held.engine_port)
        again = held.until(lambda document: document["status"] == "ok")
        assert (again["digest"], again["dna"]) == (first["digest"], first["dna"])
        assert again["boot_id"] == dropped["boot_id"]

        (model / "chat_template.jinja").write_text("{{ messages[0].content }}", encoding="utf-8")
        assert held.health()["status"] == "pending"
        told = held.until(lambda document: "restart the engine" in document.get("reason", ""))
        assert told["status"] == "pending"

        end(held.engine)
        held.engine = start_engine(model, held.engine_port)
        other = held.until(lambda document: document["status"] == "ok")
        assert other["tokenizer_fingerprint"] != first["tokenizer_fingerprint"]
        assert other["model_fingerprint"] == first["model_fingerprint"]
        assert other["framework_fingerprint"] == first["framework_fingerprint"]


def _is_whole(held: Attested, document: dict[str, Any]) -> None:
    status, headers, again = held.ask()
    assert (status, again["digest"]) == (200, document["digest"])
    assert (headers["x-inference-dna"], headers["x-inference-digest"]) == (document["dna"], document["digest"])
    assert held.ask("HEAD")[:2] == (200, headers | {"date": held.ask("HEAD")[1]["date"]})
    packages = document["framework"]["packages"]
    assert packages["torch"].partition("+")[0] == "2.13.0"
    assert document["framework"]["engine"] == {
        "name": "transformers",
        "version": packages["transformers"],
        "commit": None,
    }
    assert document["hardware"]["accelerators"] == []
    assert document["hardware"]["cpu"]["arch"]


def _gateway_sees(held: Attested, document: dict[str, Any], folder: Path) -> None:
    contract = {
        "model_id": "smollm2",
        "version": "v1.0.0",
        "dna": [{"dna": document["dna"], "digest": document["digest"]}],
        "instances": [f"http://127.0.0.1:{held.engine_port}"],
        "health_url": f"http://127.0.0.1:{held.port}/healthz",
        "verification": "probe",
    }
    write_documents(folder, contract, routes={"model_id": "smollm2", "default": "^1"})
    with GatewayProcess(folder) as gateway:
        gateway.wait_verified(1)
