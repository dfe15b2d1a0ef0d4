"""Read what a command line names."""

from __future__ import annotations

import sys
from pathlib import Path

from gateway.cli.output import Stop

STANDARD_INPUT = Path("-")


def read_bytes(path: Path) -> bytes:
    """Read a file, or standard input for `-`.

    Raises:
        Stop: It cannot be read.
    """
    if path == STANDARD_INPUT:
        return sys.stdin.buffer.read()
    try:
        return path.read_bytes()
    except OSError as error:
        raise Stop(f"{path}: {error.strerror}") from error
