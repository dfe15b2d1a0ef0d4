"""One process that the demo started, and may therefore stop.

It gets a session of its own: a Ctrl-C at the terminal reaches only the demo, which then stops what it started, in
order, by process id.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

TERM_DEADLINE_S = 8.0
"""How long a process may take to end after SIGTERM; then it is killed."""
LAST_LINES = 12


class Child:
    """A running process with a name people know it by.

    Args:
        name: Such as `worker v2.4.0 a`.
        command: Program and arguments.
        folder: Working folder.
        log: File to which its output is appended.
        env: Variables it gets beside ours.
    """

    def __init__(
        self, name: str, command: Sequence[str], *, folder: Path, log: Path, env: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env={**os.environ, **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.poll() is None

    def obituary(self) -> str:
        """Say how it ended, with the last lines it wrote."""
        told = f"{self.name} (process {self.pid}) {_how(self._process.poll())}."
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-LAST_LINES:]
        if not lines:
            return f"{told} It wrote nothing to {self.log}."
        return "\n".join([f"{told} The end of {self.log}:", *(f"    {line}" for line in lines)])

    def kill(self) -> None:
        """Kill it at once, as a machine that fails does, and wait until it is gone."""
        self._process.kill()
        self._process.wait()

    async def stop(self) -> None:
        """Ask it to end; kill it when the deadline has passed."""
        if self.is_running:
            self._process.terminate()
            await asyncio.to_thread(self._outlast)

    def _outlast(self) -> None:
        try:
            self._process.wait(TERM_DEADLINE_S)
        except subprocess.TimeoutExpired:
            self.kill()


def _how(returncode: int | None) -> str:
    if returncode is None:
        return "is running"
    if returncode >= 0:
        return f"ended with exit status {returncode}"
    return f"was ended by {signal.Signals(-returncode).name}"
