"""`python -m worker`."""

from __future__ import annotations

from worker.ending import end_quietly_on_signals, end_with

if __name__ == "__main__":
    end_quietly_on_signals()
    from worker.command import main

    end_with(main)
