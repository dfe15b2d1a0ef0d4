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


LEAVING = """
import atexit, sys, threading
from worker.ending import end_with

def main():
    if sys.argv[1] == "busy":
        threading.Thread(target=threading.Event().wait, daemon=True).start()
    atexit.register(print, "taken down")
    print("said")
    return {way}

end_with(main)
"""


@pytest.mark.parametrize(
    ("thread", "out"), [("busy", "said\n"), ("none", "said\ntaken down\n")], ids=["a-thread-is-left", "none-is-left"]
)
@pytest.mark.parametrize(("way", "code"), [("88", 88), ("0", 0), ("sys.exit(2)", 2), ("sys.exit()", 0)])
def test_the_code_is_the_programs_and_nothing_is_taken_down_under_a_thread_that_is_left(
    thread: str, out: str, way: str, code: int
) -> None:
    command = [sys.executable, "-c", LEAVING.replace("{way}", way), thread]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30)

    assert (ended.returncode, ended.stdout, ended.stderr) == (code, out, "")
