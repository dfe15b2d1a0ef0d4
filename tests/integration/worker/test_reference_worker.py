"""A worker around a model of transformers as a process: its stages, its settings, its self-test, its exit codes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from gateway.cli.generator import pack
from gateway.cli.output import Format
from tests.support.remembering import LONG, remembering_generator
from tests.support.smollm2 import model_folder
from tests.support.tiny_bundle import language_model
from tests.support.worker_process import Start, WorkerProcess

pytestmark = [pytest.mark.models, pytest.mark.slow, pytest.mark.timeout(240)]

NAME = ("--model-id", "letters", "--version", "v1.0.0")
Started = tuple[WorkerProcess, list[str]]
PROMPT = {"model": "letters", "prompt": "hello", "max_tokens": 6}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sealed = {"max_new_tokens": 6, "most_new_tokens": 40, "allowed": ["max_new_tokens", "temperature", "seed"]}
    return language_model(tmp_path_factory.mktemp("reference") / "letters", sealed=sealed)


@pytest.fixture(scope="module")
def manifest(bundle: Path) -> str:
    """The birth certificate of the bundle, without a signature."""
    target = bundle.parent / "manifest.json"
    asked = ["--model", str(bundle), "--output", str(target), "--model-id", "letters", "--version", "v1.0.0"]
    subprocess.run([sys.executable, "-m", "gateway.cli.main", "manifest", *asked, "--artifact-only"], check=True)
    return target.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def started(start: Start, bundle: Path) -> Started:
    """A worker whose contract promises determinism, and every status it had until it was ok."""
    contract = bundle.parent / "contract.json"
    contract.write_text('{"contract": {"behavioral_constraints": {"deterministic": true}}}', encoding="utf-8")
    seen: list[str] = []
    worker = start(bundle, *NAME, "--contract", str(contract), wait=False)

    def is_ok() -> bool:
        seen.append(worker.health()["status"])
        return seen[-1] == "ok"

    worker.until(is_ok)
    return worker, list(dict.fromkeys(seen))


def test_a_worker_goes_from_loading_over_warming_to_ok(started: Started) -> None:
    assert started[1] == ["loading", "warming", "ok"]


def test_a_deterministic_worker_answers_ten_times_the_same_with_the_same_dna(started: Started) -> None:
    worker, _ = started

    answers = [worker.client.post("/v1/completions", json={**PROMPT, "temperature": 1.0}) for _ in range(10)]

    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["choices"][0]["text"] for answer in answers}) == 1
    assert len({answer.headers["x-inference-dna"] for answer in answers}) == 1
    assert worker.health()["framework"]["deterministic"]["torch"]


def test_what_the_bundle_does_not_leave_to_requests_is_422_with_its_field(started: Started) -> None:
    answer = started[0].client.post("/v1/completions", json={**PROMPT, "top_p": 0.5})

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "top_p"


@pytest.fixture(scope="module")
def packed(bundle: Path) -> Path:
    """The bundle as a packed generator."""
    folder = bundle.parent / "packed"
    folder.mkdir()
    compiled = ["max_new_tokens=6", "do_sample=true", "temperature=2.0", "bad_words_ids=[[2]]"]
    pack(bundle, version="v1.0.0", into=folder, settings=compiled, output=Format.TABLE)
    for file in bundle.glob("tokenizer*"):
        (folder / file.name).write_bytes(file.read_bytes())
    return folder


def test_a_packed_generator_serves_what_was_compiled_in_and_nothing_else(start: Start, packed: Path) -> None:
    worker = start(packed, *NAME, "--backend", "torchscript")

    def ask(**members: object) -> httpx.Response:
        return worker.client.post("/v1/completions", json={"model": "letters", "prompt": "hello", **members})

    texts = [ask(seed=seed).json()["choices"][0]["text"] for seed in (*range(12), *range(12))]
    refused = [ask(**{name: value}) for name, value in {"temperature": 0, "top_k": 1, "max_tokens": 7}.items()]

    assert texts[:12] == texts[12:]
    assert len(set(texts)) > 6
    assert {len(text) for text in texts} == {6}
    assert "c" not in "".join(texts)
    assert ask(seed=0, max_tokens=3).json()["choices"][0]["text"] == texts[0][:3]
    assert [(each.status_code, each.json()["error"]["param"]) for each in refused] == [
        (422, "temperature"), (422, "top_k"), (422, "max_tokens"),
    ]  # fmt: skip
    assert {each.headers["x-inference-digest"] for each in refused} == {worker.health()["digest"]}


@pytest.fixture(scope="module")
def packed_language_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model, folder = model_folder(), tmp_path_factory.mktemp("packed-language-model")
    pack(model, version="v1.0.0", into=folder, settings=["max_new_tokens=16"], output=Format.TABLE)
    for file in (*model.glob("tokenizer*"), *model.glob("*.jinja")):
        (folder / file.name).write_bytes(file.read_bytes())
    return folder


def test_a_packed_language_model_answers(start: Start, packed_language_model: Path) -> None:
    worker = start(packed_language_model, *NAME, "--backend", "torchscript")

    question = [{"role": "user", "content": "What is the capital of France?"}]
    answer = worker.client.post("/v1/chat/completions", json={"model": "letters", "messages": question}, timeout=60)

    assert answer.json()["choices"][0]["message"]["content"] == "The capital of France is Paris."


def test_a_worker_that_is_told_to_stop_while_pytorch_works_ends_at_once_with_status_0(
    start: Start, packed_language_model: Path
) -> None:
    """Its warm-up takes seconds; a thread inside PyTorch made of nearly every such end an abort."""
    arguments = (*NAME, "--backend", "torchscript")
    workers = [start(packed_language_model, *arguments, wait=False) for _ in range(3)]

    def stopped(worker: WorkerProcess, status: str, later_s: float) -> int:
        worker.until(lambda: worker.health()["status"] == status)
        time.sleep(later_s)
        return worker.end()

    moments = [("loading", 0.0), ("warming", 0.0), ("warming", 1.0)]
    with ThreadPoolExecutor(len(workers)) as threads:
        codes = list(threads.map(stopped, workers, *zip(*moments, strict=True)))

    assert codes == [0, 0, 0]


def test_a_bundle_whose_weights_are_cut_short_ends_the_process_with_a_code_and_a_sentence(
    bundle: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "letters"
    shutil.copytree(bundle, folder)
    os.truncate(folder / "model.safetensors", 9000)

    ended = subprocess.run(
        [sys.executable, "-m", "worker", str(folder), "--port", "0", *NAME], capture_output=True, text=True
    )

    assert ended.returncode == 88
    assert "'model.safetensors' cover" in ended.stderr.splitlines()[-1]
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("changed", "options", "code", "says"),
    [
        pytest.param(False, (), 87, "must not start", id="signed-by-nobody"),
        pytest.param(True, ("--unsigned",), 86, "postprocess", id="something-else-than-promised"),
    ],
)
def test_a_worker_that_is_not_what_its_manifest_promises_ends_with_a_code_and_a_reason(
    bundle: Path, manifest: str, tmp_path: Path, changed: bool, options: tuple[str, ...], code: int, says: str
) -> None:
    folder = tmp_path / "letters"
    folder.mkdir()
    for file in bundle.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "manifest.json").write_text(manifest, encoding="utf-8")
    if changed:
        sealed = json.loads((folder / "worker.json").read_text(encoding="utf-8"))
        (folder / "worker.json").write_text(json.dumps({**sealed, "max_new_tokens": 9}), encoding="utf-8")

    ended = subprocess.run(
        [sys.executable, "-m", "worker", str(folder), "--port", "0", *options], capture_output=True, text=True
    )

    assert ended.returncode == code
    assert says in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_bundle_whose_model_remembers_fails_that_request_and_takes_the_worker_away(
    start: Start, tmp_path: Path
) -> None:
    worker = start(remembering_generator(tmp_path / "remembering"), *NAME)
    assert worker.client.post("/generate", json={"text": "abc"}).json()["text"] == "defg"

    failed = worker.client.post("/generate", json={"text": "a" * LONG})

    assert (failed.status_code, failed.json()["code"]) == (500, "isolation_broken")
    assert failed.json()["errors"][0]["field"].endswith(".asked")
    health = worker.client.get("/healthz")
    assert (health.status_code, health.json()["status"]) == (503, "pending")
    assert failed.json()["errors"][0]["field"] in health.json()["reason"]
    assert worker.client.post("/generate", json={"text": "abc"}).status_code == 503
    assert worker.end() == 0
