"""A program on a terminal of its own: type, and wait for what it shows."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

_SIZE = (50, 200)
_CONTROL = re.compile(r"\x1b\][^\x07]*\x07|\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>]|[\x07\x0f]")
_IN_CONTROL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1], sys.argv[1:])"
)
"""Only a program of its own session can make a terminal its own, and a shell with none has no line editor."""


class Terminal:
    """`with Terminal(words, ...) as terminal:`; the program is killed at the end."""

    def __init__(self, words: Sequence[str], *, folder: Path, environment: Mapping[str, str]) -> None:
        self._words, self._folder, self._environment = words, folder, dict(environment)
        self._shown = ""

    def __enter__(self) -> Self:
        self._ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, _SIZE)
        self._process = subprocess.Popen(
            [sys.executable, "-c", _IN_CONTROL, *self._words],
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
            cwd=self._folder, env=self._environment,
        )  # fmt: skip
        os.close(theirs)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)

    def type(self, keys: str) -> None:
        """Press keys; what was shown before is forgotten."""
        self._shown = ""
        os.write(self._ours, keys.encode())

    def wait_for(self, *texts: str, timeout_s: float = 60.0) -> None:
        """Wait until all of these were shown since the last keys, colours and movements apart."""
        deadline = time.monotonic() + timeout_s
        while missing := [text for text in texts if text not in _CONTROL.sub("", self._shown)]:
            if not select.select([self._ours], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise AssertionError(f"waited in vain for {missing}; shown was:\n{self._shown}")
            self._shown += os.read(self._ours, 65_536).decode("utf-8", "replace")
