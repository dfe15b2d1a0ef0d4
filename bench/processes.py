"""Processes that the benchmark starts: pinned to cores, leaders of their own group, and stopped by their id.

A process group of its own keeps Ctrl-C from reaching them first: the benchmark measures to the end of its `finally`
blocks and then stops each one.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Self

from bench import procfs
from bench.cores import pinned

STOP_S = 10.0


class StartError(Exception):
    """A process did not come up; the message holds the end of what it printed."""


class Running:
    """One started process and its children. `with Running(...) as it:` stops it at the end, however that comes."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cores: Sequence[int],
        log: Path,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.log = log
        self.name = Path(command[0]).name
        # Appending, so that the file can be cut to nothing while the process writes on.
        with log.open("ab") as output, pinned(cores):
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                env=dict(os.environ) | dict(env or {}),
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """The leader's id, which is the group's too."""
        return self._process.pid

    @property
    def family(self) -> tuple[int, ...]:
        """Ids of the process and all it started."""
        return procfs.family(self.pid)

    def wait_until(self, is_ready: Callable[[], bool], *, what: str, timeout_s: float, pause_s: float = 0.05) -> None:
        """Ask until it holds.

        Raises:
            StartError: The process ended, or the time is over.
        """
        deadline = time.monotonic() + timeout_s
        while not is_ready():
            if self._process.poll() is not None:
                raise StartError(f"{self.name} ended with {self._process.returncode}:\n{self._tail()}")
            if time.monotonic() > deadline:
                raise StartError(f"waited {timeout_s:.0f} s in vain for {what}:\n{self._tail()}")
            time.sleep(pause_s)

    def freeze(self) -> None:
        """Hold the group where it stands: it takes no CPU and notices nothing but the time."""
        self._signal(signal.SIGSTOP)

    @contextmanager
    def thawed(self) -> Iterator[None]:
        """Let a frozen group go on as long as the block lasts."""
        self._signal(signal.SIGCONT)
        try:
            yield
        finally:
            self.freeze()

    def stop(self) -> None:
        """Ask the group to end, wait, then insist."""
        self._signal(signal.SIGTERM)
        self._signal(signal.SIGCONT)  # a frozen one hears the first only then
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self._signal(signal.SIGKILL)
            self._process.wait()

    def _signal(self, number: int) -> None:
        # The id of the group is the leader's; ESRCH means that nobody of it is left.
        with suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def _tail(self) -> str:
        return self.log.read_bytes()[-2000:].decode("utf-8", "replace")


def free_port() -> int:
    """A port of loopback that nobody listens on now."""
    return free_ports(1)[0]


def free_ports(count: int) -> tuple[int, ...]:
    """So many of them, each another one."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for sock in sockets:
            sock.bind(("127.0.0.1", 0))
        return tuple(sock.getsockname()[1] for sock in sockets)
