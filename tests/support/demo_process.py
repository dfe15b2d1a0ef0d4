"""`make run` and `make demo` as processes, as a person at a terminal has them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

REPOSITORY = Path(__file__).resolve().parents[2]
RUN = (sys.executable, "-m", "tools.demo.run")


def demo_environment(runs: Path, **more: str) -> dict[str, str]:
    """Free ports and a folder of its own; nothing of a `make` this test may run under."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS", "GATEWAY_", "COV_"))}
    return inherited | {"GATEWAY_PORT": "0", "GATEWAY_ADMIN_PORT": "0", "RUN_FOLDER": str(runs)} | more


def processes_with(runs: Path) -> list[int]:
    """Find every living process that has this run folder in its environment: the demo and all it started."""
    mark = f"RUN_FOLDER={runs}".encode()
    return [int(one.name) for one in Path("/proc").iterdir() if one.name.isdecimal() and mark in _environment(one)]


def _environment(process: Path) -> list[bytes]:
    try:
        return (process / "environ").read_bytes().split(b"\0")
    except OSError:  # it ended meanwhile, or is somebody else's
        return []


class DemoProcess:
    """`with DemoProcess(folder) as demo:`; its output is collected, and whatever is left of it is killed at the end."""

    def __init__(self, runs: Path, command: Sequence[str] = RUN, environment: Mapping[str, str] | None = None) -> None:
        self.runs = runs
        self.lines: list[str] = []
        self._process = subprocess.Popen(
            command,
            cwd=REPOSITORY,
            env=environment or demo_environment(runs),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        for pid in {self._process.pid, *processes_with(self.runs)}:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self._process.wait()
        self._reader.join(10)
        if self._process.stdout is not None:
            self._process.stdout.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def output(self) -> str:
        """Everything it wrote so far."""
        return "\n".join(self.lines)

    def wait_for_line(self, text: str, *, seconds: float = 100.0) -> str:
        """Wait until it wrote a line with this text, and give that line."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for line in self.lines:
                if text in line:
                    return line
            if self._process.poll() is not None:
                self._reader.join(10)
                if text not in self.output:
                    raise AssertionError(f"it ended with {self._process.returncode} and wrote:\n{self.output}")
            time.sleep(0.05)
        raise AssertionError(f"no line with {text!r} in {seconds} s:\n{self.output}")

    def tell(self, which: signal.Signals) -> None:
        """Send a signal to it alone."""
        self._process.send_signal(which)

    def tell_group(self, which: signal.Signals) -> None:
        """Send a signal to its process group, as a terminal does on Ctrl-C."""
        os.killpg(self._process.pid, which)

    def wait(self, *, seconds: float = 60.0) -> int:
        """Wait for its end and give the exit status."""
        status = self._process.wait(seconds)
        self._reader.join(10)
        return status

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line.rstrip("\n"))
