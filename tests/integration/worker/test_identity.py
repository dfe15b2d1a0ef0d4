"""What workers say they are, compared with each other."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from inference_dna.observation import Observation
from tests.support.worker_process import Start, WorkerProcess
from worker.demo.dataset import heldout_messages, read_dataset
from worker.demo.recipes import BUNDLES
from worker.demo.resave import DRIFTED

SECTIONS = ("model", "tokenizer", "postprocess", "framework", "hardware")


@pytest.fixture(scope="module")
def stable(start: Start) -> WorkerProcess:
    return start("v2.4.0")


@pytest.fixture(scope="module")
def drifted(start: Start) -> WorkerProcess:
    return start(DRIFTED, "--model-id", "intent-classifier", "--version", "2.4.0")


def differing(first: WorkerProcess, second: WorkerProcess) -> set[str]:
    """The sections in which two workers differ."""
    a, b = first.health(), second.health()
    return {name for name in SECTIONS if a[f"{name}_fingerprint"] != b[f"{name}_fingerprint"]}


def test_two_processes_of_one_bundle_are_one_runtime_and_two_boots(start: Start, stable: WorkerProcess) -> None:
    twin = start("v2.4.0")
    first, second = stable.health(), twin.health()

    assert (first["dna"], first["digest"]) == (second["dna"], second["digest"])
    assert first["boot_id"] != second["boot_id"]
    assert stable.dna("退款") == twin.dna("退款")


def test_the_folder_a_bundle_lies_in_does_not_count(start: Start, stable: WorkerProcess, tmp_path: Path) -> None:
    elsewhere = tmp_path / "somewhere" / "else"
    shutil.copytree(BUNDLES / "v2.4.0", elsewhere)

    assert start(elsewhere).health()["digest"] == stable.health()["digest"]


def test_another_version_is_another_artifact_on_the_same_stack(start: Start, stable: WorkerProcess) -> None:
    candidate = start("v2.4.1-rc.1")

    assert candidate.health()["version"] == "v2.4.1-rc.1"
    assert differing(stable, candidate) == {"model", "tokenizer", "postprocess"}
    assert candidate.health()["dna"][:4] == stable.health()["dna"][:4]


def test_the_drifted_worker_claims_its_version_and_is_healthy(drifted: WorkerProcess) -> None:
    health = drifted.health()

    assert (health["status"], health["model_id"], health["version"]) == ("ok", "intent-classifier", "v2.4.0")
    assert health["manifest"] == "none"
    assert drifted.generate("我要退款").json()["version"] == "v2.4.0"


def test_only_the_tokenizer_of_the_drifted_worker_differs(stable: WorkerProcess, drifted: WorkerProcess) -> None:
    assert differing(stable, drifted) == {"tokenizer"}
    assert stable.health()["dna"][:4] == drifted.health()["dna"][:4]
    assert stable.health()["dna"][4:8] != drifted.health()["dna"][4:8]


def test_the_drifted_worker_answers_differently(stable: WorkerProcess, drifted: WorkerProcess) -> None:
    messages = [message for message in heldout_messages(read_dataset()) if message.lang == "en"]
    right, wrong = ([worker.generate(m.text).json()["intent"] for m in messages] for worker in (stable, drifted))
    lost = sum(a == m.intent != b for a, b, m in zip(right, wrong, messages, strict=True))

    assert lost >= 10


def test_a_manifest_that_is_no_longer_true_is_shown(start: Start, tmp_path: Path) -> None:
    shutil.copytree(BUNDLES / DRIFTED, tmp_path / "copied")
    shutil.copy(BUNDLES / "v2.4.0" / "manifest.json", tmp_path / "copied")

    assert start(tmp_path / "copied").health()["manifest"] == "differs: tokenizer"


def test_body_and_headers_of_healthz_do_not_contradict_each_other(stable: WorkerProcess) -> None:
    response = stable.client.get("/healthz")
    observation = Observation.from_healthz(response.status_code, response.headers.multi_items(), response.content)

    assert observation.status == "ok"
    assert (observation.dna, observation.digest) == (response.json()["dna"], response.json()["digest"])
    assert (observation.model_id, observation.version) == ("intent-classifier", "v2.4.0")
    assert observation.hardware == response.json()["hardware"]
