"""A real engine: `transformers serve` with a real model, attested by the command, seen by the gateway."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.attested_engine import Attested, attested
from tests.support.gateway_process import GatewayProcess, write_documents
from tests.support.smollm2 import copy_folder

pytestmark = [pytest.mark.models, pytest.mark.slow, pytest.mark.timeout(400)]

SERVE = "from transformers.cli.transformers import main; main()"


def serve(model: Path, port: int) -> Sequence[str]:
    words = ["serve", str(model), "--port", str(port), "--host", "127.0.0.1", "--device", "cpu"]
    return [sys.executable, "-c", SERVE, *words]


def test_a_real_engine_is_attested_through_restart_and_update(tmp_path: Path) -> None:
    model = copy_folder(tmp_path / "model")
    with attested("transformers", model, serve) as held:
        first = held.until_ok()
        _is_whole(held, first)
        _gateway_sees(held, first, tmp_path / "documents")

        held.end()
        dropped = held.health()
        assert dropped["status"] == "pending"
        assert dropped["boot_id"] != first["boot_id"]

        held.start_again()
        again = held.until_ok()
        assert (again["digest"], again["dna"]) == (first["digest"], first["dna"])
        assert again["boot_id"] == dropped["boot_id"]

        (model / "chat_template.jinja").write_text("{{ messages[0].content }}", encoding="utf-8")
        assert held.health()["status"] == "pending"
        told = held.until(lambda document: "restart the engine" in document.get("reason", ""))
        assert told["status"] == "pending"

        held.end()
        held.start_again()
        other = held.until_ok()
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
