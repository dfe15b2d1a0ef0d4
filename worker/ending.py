"""Makes being told to stop an ordinary end. It imports nothing slow: a signal may come while the rest is imported."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import NoReturn

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def end_quietly_on_signals() -> None:
    """Make SIGTERM and SIGINT an end with status 0.

    While it serves, uvicorn catches both, finishes what is in flight, and raises the signal again for this handler.
    """
    for number in _SIGNALS:
        signal.signal(number, _end)


def end_with(main: Callable[[], int]) -> NoReturn:
    """Run a program and end the process with the code it gives, whatever a daemon thread is doing by then.

    The thread that loads and warms up may be deep inside PyTorch. An ordinary end stops such a thread where it next
    asks for the interpreter's lock, by unwinding frames of C++ that must not be unwound, and takes down what those
    frames still use: the process is aborted (134) or crashes (139). So where one is left, nothing is taken down.
    """
    try:
        code = main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)  # it is ending already
    if any(thread.daemon for thread in threading.enumerate()):
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):  # nobody may be reading any more
                stream.flush()
        os._exit(code)
    sys.exit(code)


def _end(_number: int, _frame: FrameType | None) -> None:
    sys.exit(0)
