"""A lock between the processes of one host, waited for with a bound."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PAUSE_S = 0.05


@contextmanager
def locked(path: Path, *, wait_s: float) -> Iterator[bool]:
    """Hold a lock file; the kernel frees it when the process ends, however that comes.

    Args:
        path: The lock file; made where it is missing.
        wait_s: How long another holder is waited for, in seconds.

    Yields:
        Whether it is held. False means that the wait was over; what is done then is the caller's decision.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        yield _acquired(descriptor, int(wait_s / _PAUSE_S))
    finally:
        os.close(descriptor)


def _acquired(descriptor: int, tries: int) -> bool:
    for _ in range(tries):
        if _try(descriptor):
            return True
        time.sleep(_PAUSE_S)
    return _try(descriptor)


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
