"""Engines by their recorded answers, each a process of its own, attested from outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpx
import pytest

from inference_dna.assurance import Assurance
from inference_dna.attest.answers import Address
from inference_dna.attest.asked import Asked
from inference_dna.attest.attestor import SILENCE_S, Attestor
from inference_dna.attest.command import Order, prepare
from inference_dna.attest.engines import engine_named
from inference_dna.attest.listener import listener
from inference_dna.attest.process import require_running
from inference_dna.attest.server import Listen, open_server
from inference_dna.canonical import Refused
from inference_dna.measure.healthz import Served
from inference_dna.measure.tokenizer import recorded_probe
from inference_dna.probe import PROBE_CHAT, PROBE_TEXTS
from tests.support.gateway_process import free_port
from tests.support.recorded_engine import ANSWERS, LLAMACPP, SGLANG, VLLM, engine_process, ids_of, write_answers
from tests.support.weights import gguf, safetensors

TOKENIZER = {"added_tokens": [{"id": 7, "content": "<eos>", "special": True}, {"id": 8, "content": "x"}]}


@dataclass
class Bench:
    """A folder with a model and recorded answers, and engines that are started on them."""

    folder: Path
    port: int = field(default_factory=free_port)
    stack: ExitStack = field(default_factory=ExitStack)
    process: subprocess.Popen[bytes] | None = None

    @property
    def model(self) -> Path:
        return self.folder / "v1.0.0"

    def answer(self, answers: Mapping[str, Any]) -> None:
        model = self.model / "m.gguf" if "GET /props" in answers else self.model
        write_answers(self.folder / "answers.json", answers, model)

    def start(self, *arguments: str, **environ: str) -> int:
        running = engine_process(self.folder / "answers.json", self.port, *arguments, environ=environ)
        self.process = self.stack.enter_context(running)
        return self.process.pid

    def end(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def attestor(self, engine: str, pid: int, *, model: Path | None = None) -> Attestor:
        url = f"http://127.0.0.1:{self.port}"
        return prepare(Order(engine, pid, model or self.model, "127.0.0.1:0", url, "llama", version="v1.0.0"))

    def attested(self, engine: str, *arguments: str, **environ: str) -> Attestor:
        self.answer(ANSWERS[engine])
        model = self.model / "m.gguf" if engine == "llamacpp" else None
        attestor = self.attestor(engine, self.start(*arguments, **environ), model=model)
        attestor.look()
        return attestor


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    made.model.mkdir()
    (made.model / "model.safetensors").write_bytes(safetensors({"a": b"12"}))
    (made.model / "tokenizer.json").write_text(json.dumps(TOKENIZER), encoding="utf-8")
    (made.model / "chat_template.jinja").write_text("{{ messages }}", encoding="utf-8")
    (made.model / "m.gguf").write_bytes(gguf())
    with made.stack:
        yield made


def health(attestor: Attestor) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(attestor.answer("GET")[2])
    return document


def sections(attestor: Attestor) -> Mapping[str, Any]:
    genome = attestor.standing.state.genome
    assert genome is not None, attestor.standing.state.reason
    return genome.sections


def test_vllm_is_measured_from_outside(bench: Bench) -> None:
    attestor = bench.attested("vllm", "--dtype", "float16", VLLM_ATTENTION_BACKEND="FLASH_ATTN", VLLM_API_KEY="s3cret")

    found = sections(attestor)
    assert found["framework"]["engine"] == {"name": "vllm", "version": "0.11.0", "commit": None}
    assert found["framework"]["flags"]["dtype"] == "float16"
    assert found["framework"]["env"]["VLLM_ATTENTION_BACKEND"] == "FLASH_ATTN"
    assert "s3cret" not in json.dumps(found)
    assert [entry["name"] for entry in found["weights"]["files"]] == ["m.gguf", "model.safetensors"]
    probe = recorded_probe(found["tokenizer"])
    assert probe is not None
    assert probe.texts == (*PROBE_TEXTS, "<eos>")
    assert probe.ids == tuple(tuple(ids_of(text)) for text in probe.texts)
    assert probe.chat == tuple(ids_of("".join(message["content"] for message in PROBE_CHAT)))
    assert found["postprocess"]["evidence"]["golden_answer"]["text"] == " Paris"


@pytest.mark.parametrize(
    ("engine", "version"),
    [("sglang", "0.5.2"), ("tgi", "2.4.0"), ("triton", "2.30.0"), ("llamacpp", "b8681-abc1234")],
)
def test_each_engine_is_asked_in_its_own_way(bench: Bench, engine: str, version: str) -> None:
    if engine == "sglang":  # its interpreter would have to load this tokenizer, which is none
        for name in ("tokenizer.json", "chat_template.jinja"):
            (bench.model / name).unlink()
    attestor = bench.attested(engine)

    found = sections(attestor)
    assert found["framework"]["engine"]["version"] == version
    assert (recorded_probe(found["tokenizer"]) is not None) == (engine in ("tgi", "llamacpp"))
    assert bool(found["framework"]["programs"]) == (engine in ("triton", "llamacpp"))
    assert attestor.answer("GET")[0] is HTTPStatus.OK


def test_what_an_idle_slot_remembers_is_no_setting(bench: Bench) -> None:
    attestor = bench.attested("llamacpp")

    settings = sections(attestor)["postprocess"]["values"]["default_generation_settings"]
    assert settings == {"n_ctx": 8192, "temperature": 0.8}


def test_get_and_head_say_the_same(bench: Bench) -> None:
    attestor = bench.attested("vllm")
    status, headers, body = attestor.answer("GET")

    assert (status, attestor.answer("HEAD")) == (HTTPStatus.OK, (HTTPStatus.OK, headers, b""))
    document = json.loads(body)
    stamped = {name.lower(): value for name, value in headers}
    assert (document["status"], document["assurance"]) == ("ok", "full-hash")
    assert document["dna"] == stamped["x-inference-dna"]
    assert document["digest"] == stamped["x-inference-digest"]


def test_nothing_is_shown_before_it_is_measured(bench: Bench) -> None:
    bench.answer(VLLM)
    attestor = bench.attestor("vllm", bench.start())

    status, headers, body = attestor.answer("GET")

    assert status is HTTPStatus.SERVICE_UNAVAILABLE
    assert json.loads(body)["status"] == "loading"
    assert not [name for name, _ in headers if name.lower().startswith("x-inference")]


def test_an_engine_that_ended_is_pending_at_once_and_its_successor_is_measured(bench: Bench) -> None:
    attestor = bench.attested("vllm")
    before = health(attestor)
    bench.end()

    dropped = health(attestor)  # nobody looked in between
    assert dropped["status"] == "pending"
    assert "ended" in dropped["reason"]
    attestor.look()
    assert "nobody listens" in health(attestor)["reason"]
    bench.start()
    attestor.look()
    after = health(attestor)
    assert (after["status"], after["digest"]) == ("ok", before["digest"])
    assert after["boot_id"] != before["boot_id"]


def test_a_successor_with_another_setting_is_another(bench: Bench) -> None:
    attestor = bench.attested("vllm", "--dtype", "float16")
    before = health(attestor)
    bench.end()
    bench.start("--dtype", "bfloat16")
    attestor.look()

    after = health(attestor)
    assert after["status"] == "ok"
    assert after["digest"] != before["digest"]


def swap(path: Path) -> None:
    path.write_bytes(safetensors({"a": b"34"}))


def keep_times(path: Path) -> None:
    status = path.stat()
    swap(path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def add(path: Path) -> None:
    (path.parent / "modeling_new.py").write_text("x = 1\n", encoding="utf-8")


def replaced(path: Path) -> None:
    fresh = path.with_name(".fresh")
    swap(fresh)
    fresh.replace(path)


@pytest.mark.parametrize("change", [swap, keep_times, add, replaced, Path.unlink])
def test_a_changed_file_is_pending_at_once(bench: Bench, change: Callable[[Path], object]) -> None:
    attestor = bench.attested("vllm")
    change(bench.model / "model.safetensors")

    assert health(attestor)["status"] == "pending"
    assert attestor.answer("HEAD")[0] is HTTPStatus.SERVICE_UNAVAILABLE
    attestor.look()
    # The engine still holds what it loaded: what lies there now proves nothing.
    assert health(attestor)["status"] == "pending"
    assert "restart the engine" in health(attestor)["reason"]


def test_the_right_files_put_back_under_a_running_engine_are_not_believed(bench: Bench) -> None:
    bench.answer(VLLM)
    swap(bench.model / "model.safetensors")
    pid = bench.start()
    (bench.model / "model.safetensors").write_bytes(safetensors({"a": b"12"}))
    attestor = bench.attestor("vllm", pid)
    attestor.look()

    assert "changed after the engine had started" in health(attestor)["reason"]


def test_a_file_that_is_gone_since_the_start_is_not_forgotten(bench: Bench) -> None:
    add(bench.model / "model.safetensors")
    bench.answer(VLLM)
    pid = bench.start()
    (bench.model / "modeling_new.py").unlink()
    attestor = bench.attestor("vllm", pid)
    attestor.look()

    assert "Files were added to" in health(attestor)["reason"]


def test_a_file_that_was_only_touched_is_measured_anew_and_fine(bench: Bench) -> None:
    attestor = bench.attested("vllm")
    before = health(attestor)
    (bench.model / "model.safetensors").touch()

    assert health(attestor)["status"] == "pending"
    attestor.look()
    after = health(attestor)
    assert (after["status"], after["digest"]) == ("ok", before["digest"])
    assert after["boot_id"] != before["boot_id"]


def test_weights_that_the_engine_says_it_took_anew_are_measured(bench: Bench) -> None:
    for name in ("tokenizer.json", "chat_template.jinja"):
        (bench.model / name).unlink()
    attestor = bench.attested("sglang")
    before = health(attestor)
    swap(bench.model / "model.safetensors")
    attestor.look()
    assert health(attestor)["status"] == "pending"
    bench.answer({**SGLANG, "GET /get_model_info": {**SGLANG["GET /get_model_info"], "weight_version": "2"}})
    attestor.look()

    after = health(attestor)
    assert after["status"] == "ok", after["reason"]
    assert after["model_fingerprint"] != before["model_fingerprint"]


def test_a_new_weight_version_alone_is_measured_anew(bench: Bench) -> None:
    for name in ("tokenizer.json", "chat_template.jinja"):
        (bench.model / name).unlink()
    attestor = bench.attested("sglang")
    before = health(attestor)
    bench.answer({**SGLANG, "GET /get_model_info": {**SGLANG["GET /get_model_info"], "weight_version": "2"}})
    attestor.look()

    after = health(attestor)
    assert (after["status"], after["digest"]) == ("ok", before["digest"])
    assert after["boot_id"] != before["boot_id"]


def test_an_engine_that_loaded_another_folder_is_refused(bench: Bench) -> None:
    bench.answer(VLLM)
    other = bench.folder / "v2.0.0"
    other.mkdir()
    (other / "model.safetensors").write_bytes(safetensors({"a": b"12"}))
    attestor = bench.attestor("vllm", bench.start(), model=other)
    attestor.look()

    assert "says that it has loaded" in health(attestor)["reason"]


def test_a_process_that_does_not_answer_there_is_refused(bench: Bench) -> None:
    bench.answer(VLLM)
    bench.start()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        attestor = bench.attestor("vllm", other.pid)
        attestor.look()
        other.communicate(b"\n")

    assert f"does not listen on port {bench.port}" in health(attestor)["reason"]
    assert listener(bench.port) is not None


def test_an_engine_that_wants_a_key_is_sent_it(bench: Bench) -> None:
    bench.answer(VLLM)
    pid = bench.start(RECORDED_AUTHORIZATION="Bearer s3cret")
    refused = bench.attestor("vllm", pid)
    refused.look()
    assert "with 401" in health(refused)["reason"]
    key = bench.folder / "key"
    key.write_text("s3cret\n", encoding="utf-8")
    url = f"http://127.0.0.1:{bench.port}"
    attestor = prepare(Order("vllm", pid, bench.model, "127.0.0.1:0", url, "llama", api_key_file=key))
    attestor.look()

    assert health(attestor)["status"] == "ok"
    assert "s3cret" not in json.dumps(health(attestor))


def test_the_page_is_served_and_nothing_else(bench: Bench) -> None:
    attestor = bench.attested("vllm")
    server = open_server(Listen("127.0.0.1", 0), attestor)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    with httpx.Client(base_url=f"http://127.0.0.1:{server.server_address[1]}") as client:
        got, head = client.get("/healthz"), client.head("/healthz")
        other, sent = client.get("/v1/models"), client.post("/healthz", json={})
    server.shutdown()
    server.server_close()
    thread.join()

    assert (got.status_code, head.status_code, head.content) == (200, 200, b"")
    assert head.headers["x-inference-dna"] == got.json()["dna"] == got.headers["x-inference-dna"]
    assert head.headers["content-length"] == str(len(got.content))
    assert (other.status_code, sent.status_code, sent.headers["allow"]) == (404, 405, "GET, HEAD")


def test_a_place_that_is_taken_is_said(bench: Bench) -> None:
    attestor = bench.attested("vllm")

    with pytest.raises(Refused, match="failed: Address already in use"):
        open_server(Listen("127.0.0.1", bench.port), attestor)


def test_an_adapter_that_is_loaded_is_part_of_the_weights(bench: Bench) -> None:
    adapter = bench.folder / "poet"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text("{}", encoding="utf-8")
    (adapter / "adapter_model.safetensors").write_bytes(safetensors({"base_model.model.a.lora_A.weight": b"1"}))
    attestor = bench.attested("vllm")
    models = VLLM["GET /v1/models"]["data"]
    bench.answer(
        {**VLLM, "GET /v1/models": {"data": [*models, {"id": "poet", "root": str(adapter), "parent": "llama"}]}}
    )
    (bench.model / "model.safetensors").touch()
    bench.end()
    bench.start()
    attestor.look()
    loaded = sections(attestor)["weights"]["adapters"]

    assert [entry["name"] for entry in loaded] == ["poet"]


def test_a_silent_engine_is_pending_and_the_same_again_when_it_speaks(bench: Bench) -> None:
    attestor = bench.attested("vllm")
    before = health(attestor)
    bench.answer({})
    attestor.look()
    assert health(attestor)["status"] == "pending"
    bench.answer(VLLM)
    attestor.look()

    after = health(attestor)
    assert (after["status"], after["digest"]) == ("ok", before["digest"])


def test_an_engine_that_is_only_busy_keeps_its_identity_for_a_while(bench: Bench) -> None:
    bench.answer(VLLM)
    now_s, pid = [0.0], bench.start()
    asked = Asked(engine_named("vllm"), Address("127.0.0.1", bench.port), bench.model)
    served = Served("llama", "v1.0.0", Assurance.FULL_HASH)
    attestor = Attestor(asked, served, require_running(pid), now_s=lambda: now_s[0])
    attestor.look()
    os.kill(pid, signal.SIGSTOP)
    attestor.look()
    assert health(attestor)["status"] == "ok"
    now_s[0] = SILENCE_S
    attestor.look()

    assert health(attestor)["status"] == "pending"
    assert "does not answer GET /v1/models" in health(attestor)["reason"]
    os.kill(pid, signal.SIGCONT)
    attestor.look()
    assert health(attestor)["status"] == "ok"


def test_a_measurement_that_failed_is_not_repeated_all_the_time(bench: Bench) -> None:
    bench.answer({**VLLM, "POST /v1/completions": {}})
    attestor = bench.attestor("vllm", bench.start())
    attestor.look()
    reason = health(attestor)["reason"]
    bench.answer(VLLM)
    attestor.look()

    assert "did not answer one token" in reason
    assert health(attestor)["reason"] == reason
    bench.answer({**LLAMACPP, **VLLM, "GET /v1/models": {"data": [{"id": "new", "root": str(bench.model)}]}})
    attestor.look()
    assert health(attestor)["status"] == "ok"


def test_the_look_is_cheap_enough_to_be_taken_often(bench: Bench) -> None:
    attestor = bench.attested("vllm")
    before = attestor.standing.state
    for _ in range(3):
        attestor.look()
        time.sleep(0.01)

    assert attestor.standing.state is before
