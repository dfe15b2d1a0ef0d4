"""`make run`: starts, shows, and stops everything it started, and only that."""

import json
import os
import re
import shlex
import signal
import socket
import time
from pathlib import Path

import httpx
import pytest

from tests.support.demo_process import DemoProcess, demo_environment, processes_with
from tools.demo.plan import PLAN

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

READY = "Ctrl-C stops all of it"
MAKE_RUN = ("make", "run")


def gone(runs: Path) -> bool:
    deadline = time.monotonic() + 10
    while processes_with(runs) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not processes_with(runs)


def pids_by_port(runs: Path) -> dict[str, int]:
    """Find the demo's workers by the port in their command line."""
    commands = {pid: Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0") for pid in processes_with(runs)}
    return {
        command[command.index("--port") + 1]: pid
        for pid, command in commands.items()
        if command[1:3] == ["-m", "worker"]
    }


def test_ready_means_that_the_table_the_curl_lines_and_the_documents_are_true(tmp_path: Path) -> None:
    with DemoProcess(tmp_path) as demo:
        demo.wait_for_line(READY)
        table = [line for line in demo.lines if line.startswith("  v2.")]
        assert len(table) == len(PLAN)
        assert sum("verified, up" in line for line in table) == 4
        [drifted] = [line for line in table if "drifted" in line]
        assert "ejected" in drifted
        assert "digest" in drifted

        answers = [paste(line) for line in demo.lines if line.startswith("  curl ")]
        assert [answer.status_code for answer in answers] == [200, 200, 200]
        assert [answer.headers.get("x-model-version") for answer in answers] == ["v2.4.0", "v2.3.1", None]
        assert answers[2].json()["version"] == "v2.4.0"

        contracts = [json.loads(path.read_text()) for path in (tmp_path / "fleet" / "documents").rglob("*.json")]
        assert {contract["version"]: len(contract["instances"]) for contract in contracts} == {
            "v2.3.1": 1,
            "v2.4.0": 3,
            "v2.4.1-rc.1": 1,
        }
        assert answers[0].headers["x-inference-dna"][:8] in json.dumps(contracts)

        demo.tell(signal.SIGTERM)
        assert demo.wait() == 0
        assert gone(tmp_path)


def paste(line: str) -> httpx.Response:
    """Do what curl would do with this line."""
    words = shlex.split(line)
    url = next(word for word in words if word.startswith("http"))
    headers = [words[place + 1].split(": ", 1) for place, word in enumerate(words) if word == "-H"]
    body = words[words.index("-d") + 1] if "-d" in words else None
    method = "POST" if body else "GET"
    return httpx.request(method, url, headers=dict(headers), content=body, trust_env=False)


def test_ctrl_c_on_make_run_leaves_no_process(tmp_path: Path) -> None:
    with DemoProcess(tmp_path, MAKE_RUN) as demo:
        demo.wait_for_line(READY)
        assert len(processes_with(tmp_path)) >= len(PLAN) + 2

        demo.tell_group(signal.SIGINT)

        demo.wait()
        assert gone(tmp_path)
        assert "Stopped." in demo.output


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_to_make_alone_leaves_no_process(tmp_path: Path, which: signal.Signals) -> None:
    with DemoProcess(tmp_path, MAKE_RUN) as demo:
        demo.wait_for_line("Starting")

        demo.tell(which)

        demo.wait()
        assert gone(tmp_path)


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_being_told_to_stop_while_starting_leaves_no_process(tmp_path: Path, which: signal.Signals) -> None:
    with DemoProcess(tmp_path) as demo:
        demo.wait_for_line("Starting")

        demo.tell(which)

        assert demo.wait() == 0
        assert gone(tmp_path)


def test_a_worker_that_is_killed_is_reported_and_the_rest_goes_on(tmp_path: Path) -> None:
    with DemoProcess(tmp_path) as demo:
        demo.wait_for_line(READY)
        first = next(line for line in demo.lines if line.startswith("  v2.4.0 a"))
        port = re.search(r"127\.0\.0\.1:(\d+)", first)
        assert port is not None

        os.kill(pids_by_port(tmp_path)[port[1]], signal.SIGKILL)

        assert "was ended by SIGKILL" in demo.wait_for_line("worker v2.4.0 a (process")
        pinned = next(line for line in demo.lines if line.startswith("  curl "))
        assert paste(pinned).status_code == 200
        demo.tell(signal.SIGINT)
        assert demo.wait() == 0


def test_without_its_gateway_the_demo_ends_and_says_why(tmp_path: Path) -> None:
    with DemoProcess(tmp_path) as demo:
        demo.wait_for_line(READY)
        [gateway] = set(processes_with(tmp_path)) - set(pids_by_port(tmp_path).values()) - {demo.pid}

        os.kill(gateway, signal.SIGKILL)

        assert demo.wait() == 1
        assert f"gateway (process {gateway}) was ended by SIGKILL." in demo.output
        assert gone(tmp_path)


def test_a_taken_port_is_said_in_a_sentence_and_nothing_is_started(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        with DemoProcess(tmp_path, environment=demo_environment(tmp_path, GATEWAY_PORT=port)) as demo:
            assert demo.wait() == 1
            assert demo.output.startswith(f"Port {port} is taken: something else listens on 127.0.0.1:{port}.")
            assert len(demo.lines) == 1


def test_two_in_one_folder_are_told_apart(tmp_path: Path) -> None:
    with DemoProcess(tmp_path) as first:
        first.wait_for_line("Starting")
        with DemoProcess(tmp_path) as second:
            assert second.wait() == 1
            assert second.output.startswith(f"Process {first.pid} is running a demo in ")
            # And the first goes on.
            first.wait_for_line(READY)
