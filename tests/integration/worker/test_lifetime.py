"""How a worker starts, fails to start, and ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.support.worker_process import Start
from worker.demo.recipes import BUNDLES

REAL_START_S = 10
"""Far above what a start takes on an idle machine (about 1 s), for tests share processors."""


def test_a_worker_is_ready_soon(start: Start) -> None:
    began = time.monotonic()
    start("v2.4.0")

    assert time.monotonic() - began < REAL_START_S


def test_until_a_worker_is_ready_it_answers_503_or_nothing(start: Start) -> None:
    worker = start("v2.4.0", wait=False)
    seen: list[int] = []

    def is_ready() -> bool:
        seen.append(worker.client.get("/healthz").status_code)
        return seen[-1] == httpx.codes.OK

    worker.until(is_ready)

    assert set(seen[:-1]) <= {503}


def ended(bundle: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Let a worker end by itself."""
    command = [sys.executable, "-m", "worker", str(bundle), "--port", "0", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("spoil", "arguments", "says"),
    [
        pytest.param(lambda file: file.unlink(), (), "has no file 'model.onnx' to load", id="missing-file"),
        pytest.param(lambda file: os.truncate(file, 5000), (), "'model.onnx' is no protobuf message", id="cut-weights"),
        pytest.param(lambda _: None, ("--backend", "torchscript"), "generator_*.ts; it must have one", id="wrong-kind"),
        pytest.param(lambda _: None, ("--backend", "transformers"), "names no architecture", id="another-wrong-kind"),
    ],
)
def test_a_bundle_that_cannot_be_loaded_ends_the_process_with_a_code_and_a_sentence(
    tmp_path: Path, spoil: Callable[[Path], None], arguments: tuple[str, ...], says: str
) -> None:
    bundle = tmp_path / "broken"
    shutil.copytree(BUNDLES / "v2.3.1", bundle)
    spoil(bundle / "model.onnx")

    worker = ended(bundle, *(arguments or ("--backend", "onnx")))

    assert worker.returncode == 88
    loading, sentence = worker.stderr.splitlines()
    assert "is loading" in loading
    assert says in sentence


def test_a_folder_that_is_not_there_ends_the_process_with_a_sentence(tmp_path: Path) -> None:
    worker = ended(tmp_path / "none")

    assert worker.returncode == 2
    assert worker.stderr.startswith("There is no bundle at")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_an_idle_worker_ends_at_once_with_status_0(start: Start, number: signal.Signals) -> None:
    worker = start("v2.3.1")
    began = time.monotonic()

    assert worker.end(number) == 0
    assert time.monotonic() - began < 5


def test_what_is_in_flight_is_finished_first(start: Start) -> None:
    worker = start("v2.3.1", "--delay-ms", "700")

    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(worker.generate, "我要退款")
        time.sleep(0.3)
        assert not answer.done()
        assert worker.end() == 0

    assert answer.result().json()["intent"] == "refund"


@pytest.mark.slow
def test_what_takes_too_long_is_broken_off_without_a_traceback(start: Start, capfd: pytest.CaptureFixture[str]) -> None:
    worker = start("v2.3.1", "--delay-ms", "60000")

    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(worker.generate, "我要退款")
        time.sleep(0.3)
        assert worker.end() == 0

    assert answer.result().status_code == httpx.codes.INTERNAL_SERVER_ERROR
    log = capfd.readouterr().err
    assert "/generate took longer than the 10 s that were left: it was broken off" in log
    assert "Traceback" not in log


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the kernel's word on handlers is read there")
def test_a_signal_while_the_libraries_are_imported_is_an_ordinary_end_too(start: Start) -> None:
    worker = start("v2.3.1", wait=False)
    while not _catches(worker.process.pid, signal.SIGTERM):
        time.sleep(0.001)

    assert worker.end() == 0


def _catches(pid: int, number: signal.Signals) -> bool:
    """Say whether a process has a handler for a signal: a bit of the mask that the kernel shows."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    mask = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(mask, 16) >> (number - 1) & 1)
