"""`python -m worker`."""

from __future__ import annotations

import sys

from worker.ending import end_quietly_on_signals

if __name__ == "__main__":
    end_quietly_on_signals()
    from worker.command import main

    sys.exit(main())
