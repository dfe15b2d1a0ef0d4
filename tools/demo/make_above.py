"""The `make` that started the demo: when it has gone, or was told to stop, the demo has to stop as well.

A Ctrl-C at a terminal reaches everybody, and `make` hands a SIGTERM on to what it runs. Two cases are left: it was
killed, or a program sent SIGINT to `make` alone. GNU make takes for granted that everybody got that one, and waits
inside its handler until we end; as long as it is in there, SIGINT is blocked in it, which Linux shows.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path


class MakeAbove:
    """Watches the process that started this one, where that is `make`.

    Args:
        environment: `make` sets MAKELEVEL in it for what it runs.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._pid = os.getppid() if "MAKELEVEL" in environment else 0
        # Who started `make` may have had it blocked from the beginning; then this says nothing.
        self._is_readable = not blocks(self._pid, signal.SIGINT)
        self._seen = 0

    def wants_the_end(self) -> bool:
        """Say whether it has gone, or has waited in its handler since the last time this was asked."""
        if not self._pid:
            return False
        if os.getppid() != self._pid:
            return True
        # It blocks signals for moments of its own as well: once is not enough.
        self._seen = self._seen + 1 if self._is_readable and blocks(self._pid, signal.SIGINT) else 0
        return self._seen > 1


def blocks(pid: int, which: signal.Signals) -> bool:
    """Say whether a process blocks a signal now; False where the system does not tell."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return False
    masks = [int(line.split()[1], 16) for line in lines if line.startswith("SigBlk:")]
    return bool(masks) and bool(masks[0] >> (which - 1) & 1)
