import asyncio
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.demo.child import Child

SLEEPS = "import time; print('up', flush=True); time.sleep(60)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEPS}"


def start(code: str, log: Path) -> Child:
    return Child("worker x", [sys.executable, "-c", code], folder=Path.cwd(), log=log)


def wait_for(child: Child, text: str) -> None:
    until(lambda: text in child.log.read_text())


def ended(child: Child) -> None:
    until(lambda: not child.is_running)


def until(happens: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not happens():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_it_ends_when_asked_to(tmp_path: Path) -> None:
    child = start(SLEEPS, tmp_path / "log")
    wait_for(child, "up")

    asyncio.run(child.stop())

    assert not child.is_running
    assert child.obituary().startswith(f"worker x (process {child.pid}) was ended by SIGTERM.")
    asyncio.run(child.stop())


def test_one_that_does_not_listen_is_killed_after_the_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.demo.child.TERM_DEADLINE_S", 0.2)
    child = start(STUBBORN, tmp_path / "log")
    wait_for(child, "up")

    asyncio.run(child.stop())

    assert "was ended by SIGKILL" in child.obituary()


def test_killing_waits_until_it_is_gone(tmp_path: Path) -> None:
    child = start(SLEEPS, tmp_path / "log")

    child.kill()

    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)


def test_a_ctrl_c_at_the_terminal_does_not_reach_it(tmp_path: Path) -> None:
    child = start(SLEEPS, tmp_path / "log")
    wait_for(child, "up")

    assert os.getpgid(child.pid) == child.pid != os.getpgid(0)
    asyncio.run(child.stop())


def test_the_obituary_says_how_and_why(tmp_path: Path) -> None:
    log = tmp_path / "log"
    child = start("import sys; print('first', flush=True); sys.exit('the port is taken')", log)
    ended(child)

    assert child.obituary() == (
        f"worker x (process {child.pid}) ended with exit status 1. The end of {log}:\n    first\n    the port is taken"
    )


def test_the_obituary_of_one_that_wrote_nothing(tmp_path: Path) -> None:
    child = start("", tmp_path / "log")
    ended(child)

    assert child.obituary().endswith(f"ended with exit status 0. It wrote nothing to {tmp_path / 'log'}.")
