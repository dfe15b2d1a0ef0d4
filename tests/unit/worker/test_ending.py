from __future__ import annotations

import signal
import subprocess
import sys

import pytest

SCRIPT = """
import signal
from worker.ending import end_quietly_on_signals

end_quietly_on_signals()
print("up", flush=True)
signal.pause()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_signal_before_the_server_listens_is_an_ordinary_end(number: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(number)

        assert process.wait(10) == 0
