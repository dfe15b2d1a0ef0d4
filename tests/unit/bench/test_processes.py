from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from bench import procfs
from bench.processes import Running, StartError

CORES = sorted(os.sched_getaffinity(0))
SAYS_ITS_CORES = "import os, time; print(sorted(os.sched_getaffinity(0)), flush=True); time.sleep(60)"
SAYS_GOODBYE = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: (print("goodbye", flush=True), sys.exit(0)))
print("up", flush=True)
time.sleep(60)
"""
COUNTS = "import time\nwhile True: print('on', flush=True); time.sleep(0.005)"
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"


def test_a_process_runs_on_its_core_and_is_gone_afterwards(tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = [
        sys.executable,
        "-c",
        "import os, time; print(sorted(os.sched_getaffinity(0)), flush=True); time.sleep(60)",
    ]

    with Running(command, cores=CORES[:1], log=log) as running:
        running.wait_until(lambda: bool(log.read_text()), what="its word", timeout_s=20)
        pid = running.pid

    assert log.read_text().strip() == str(CORES[:1])
    assert sorted(os.sched_getaffinity(0)) == CORES
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_one_that_will_not_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.processes.STOP_S", 0.2)
    log = tmp_path / "log"

    with Running([sys.executable, "-c", STUBBORN], cores=CORES, log=log) as running:
        running.wait_until(lambda: bool(log.read_text()), what="its word", timeout_s=20)
        pid = running.pid

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_frozen_process_takes_no_cpu_except_while_it_is_thawed(tmp_path: Path) -> None:
    log = tmp_path / "log"

    with Running([sys.executable, "-c", COUNTS], cores=CORES, log=log) as running:
        running.wait_until(lambda: bool(log.read_text()), what="its word", timeout_s=20)
        running.freeze()
        running.wait_until(lambda: stands_still(running), what="it to stand still", timeout_s=20)
        before, said = procfs.cpu_s(running.family), log.stat().st_size
        time.sleep(0.1)
        assert procfs.cpu_s(running.family) == before

        with running.thawed():
            running.wait_until(lambda: log.stat().st_size > said, what="it to go on", timeout_s=20)
        running.wait_until(lambda: stands_still(running), what="it to stand still again", timeout_s=20)


def test_a_frozen_process_ends_when_it_is_asked_to(tmp_path: Path) -> None:
    log = tmp_path / "log"

    with Running([sys.executable, "-c", SAYS_GOODBYE], cores=CORES, log=log) as running:
        running.wait_until(lambda: bool(log.read_text()), what="its word", timeout_s=20)
        running.freeze()

    assert log.read_text() == "up\ngoodbye\n"


def stands_still(running: Running) -> bool:
    return procfs.stat_fields(Path(f"/proc/{running.pid}/stat").read_text())[0] == "T"


def test_one_that_ends_at_once_says_why(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('no such port')"]

    with (
        Running(command, cores=CORES, log=tmp_path / "log") as running,
        pytest.raises(StartError, match="no such port"),
    ):
        running.wait_until(lambda: False, what="nothing", timeout_s=20)
