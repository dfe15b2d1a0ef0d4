"""The `dna` command. Data goes to standard output, everything else to standard error; never a traceback.

Exit codes: 0 good, 1 failed, 2 wrong usage, 3 findings.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

FAILED = 1
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the answer is its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given in (["--version"], ["-V"]):
        return _version()  # before anything heavy is imported: scripts ask this often
    from gateway.cli.app import run

    try:
        return run(given)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return FAILED  # whoever read our output has gone; there is nobody to tell
    except Exception as error:  # noqa: BLE001 - a fault of ours is one sentence to the person at the terminal
        sys.stderr.write(f"dna: {type(error).__name__}: {error}\n")
        return FAILED


def _version() -> int:
    from importlib.metadata import version

    sys.stdout.write(f"dna {version('dna-gateway')}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
