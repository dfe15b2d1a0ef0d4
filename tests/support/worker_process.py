"""Real worker processes on free ports: `python -m worker` and a client of it."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from worker.demo.recipes import BUNDLES

HOST = "127.0.0.1"
START_S = 90
END_S = 15


@dataclass
class WorkerProcess:
    """One worker, and a client whose connection it keeps."""

    process: subprocess.Popen[bytes]
    port: int
    client: httpx.Client

    def generate(self, text: str) -> httpx.Response:
        return self.client.post("/generate", json={"text": text})

    def health(self) -> dict[str, Any]:
        document: dict[str, Any] = self.client.get("/healthz").json()
        return document

    def dna(self, text: str) -> str:
        return self.generate(text).headers["x-inference-dna"]

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and give the exit status."""
        self.process.send_signal(number)
        return self.process.wait(END_S)

    def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until it listens and something is so."""
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            assert self.process.poll() is None, "the worker ended"
            with suppress(httpx.ConnectError):
                if is_so():
                    return
            time.sleep(0.1)
        raise AssertionError(f"the worker was not there after {START_S} s: {self.health()}")

    def until_ready(self) -> None:
        self.until(lambda: self.client.get("/healthz").status_code == httpx.codes.OK)


Start = Callable[..., WorkerProcess]
"""Starts a worker: the name of a committed bundle or a folder, further arguments, whether to wait for it, and the words
of the program: `python -m worker` where nothing else is said."""
PROGRAM = ("-m", "worker")


@contextmanager
def starting() -> Iterator[Start]:
    """Give a function that starts workers; those still running at the end of the block are killed."""
    with ExitStack() as stack:

        def start(
            bundle: str | Path, *arguments: str, wait: bool = True, program: Sequence[str] = PROGRAM
        ) -> WorkerProcess:
            with socket.create_server((HOST, 0)) as free:
                port = free.getsockname()[1]
            command = [sys.executable, *program, str(BUNDLES / bundle), "--port", str(port), *arguments]
            process = stack.enter_context(subprocess.Popen(command))
            stack.callback(process.kill)
            client = stack.enter_context(httpx.Client(base_url=f"http://{HOST}:{port}", timeout=20))
            worker = WorkerProcess(process, port, client)
            if wait:
                worker.until_ready()
            return worker

        yield start
