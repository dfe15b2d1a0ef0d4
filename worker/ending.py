"""Makes being told to stop an ordinary end. It imports nothing slow: a signal may come while the rest is imported."""

from __future__ import annotations

import signal
import sys
from types import FrameType


def end_quietly_on_signals() -> None:
    """Make SIGTERM and SIGINT an end with status 0.

    While it serves, uvicorn catches both, finishes what is in flight, and raises the signal again for this handler.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)


def _end(_number: int, _frame: FrameType | None) -> None:
    sys.exit(0)
