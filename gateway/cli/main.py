"""The `dna` command. Data goes to standard output, everything else to standard error; never a traceback.

Exit codes: 0 good, 1 failed, 2 wrong usage, 3 findings, 4 somebody was faster (`dna --help` tells them, too).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

FAILED = 1
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the answer is its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if sys.stdout is None or sys.stderr is None:
        _open_closed_streams()
    if given in (["--version"], ["-V"]):
        return _version()  # before anything heavy is imported: scripts ask this often
    from gateway.cli.app import run

    try:
        return run(given)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return FAILED  # whoever read our output has gone; there is nobody to tell
    except OSError as error:
        sys.stderr.write(f"dna: cannot go on: {error.strerror or error}\n")
        return FAILED
    except Exception as error:  # noqa: BLE001 - a fault of ours is one sentence to the person at the terminal
        sys.stderr.write(f"dna: {type(error).__name__}: {error}\n")
        return FAILED


def _open_closed_streams() -> None:
    """Started with standard output or error closed (`>&-`): what is written there goes nowhere, as was asked."""
    nowhere = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open for as long as the process
    sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere


def _version() -> int:
    from importlib.metadata import version

    sys.stdout.write(f"dna {version('dna-gateway')}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
