"""What a run says while it goes: on stderr, so that stdout holds tables only."""

from __future__ import annotations

import sys


def say(line: str) -> None:
    """Print one line at once."""
    print(line, file=sys.stderr, flush=True)
