"""A real engine and the command that attests it, both as processes of their own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.gateway_process import free_port

START_S = 120

Command = Callable[[Path, int], Sequence[str]]
"""Model and port, to the command line of an engine."""


@dataclass
class Attested:
    """An engine, its attestor, and the model that the engine has loaded."""

    model: Path
    engine_port: int
    port: int
    command: Command
    engine: subprocess.Popen[bytes]

    def ask(self, method: str = "GET") -> tuple[int, dict[str, str], dict[str, Any]]:
        """Status, headers in small letters, and body of `/healthz`."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/healthz", method=method)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                status, headers, body = answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                status, headers, body = error.code, error.headers, error.read()
        small = {name.lower(): value for name, value in headers.items()}
        return status, small, json.loads(body) if body else {}

    def health(self) -> dict[str, Any]:
        return self.ask()[2]

    def until(self, is_so: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        deadline, document = time.monotonic() + START_S, {}
        while time.monotonic() < deadline:
            try:
                document = self.health()
            except OSError:
                document = {}
            if document and is_so(document):
                return document
            time.sleep(0.1)
        raise AssertionError(f"it did not come to that: {document}")

    def until_ok(self) -> dict[str, Any]:
        return self.until(lambda document: document["status"] == "ok")

    def end(self) -> None:
        self.engine.kill()
        self.engine.wait()

    def start_again(self) -> None:
        self.engine = subprocess.Popen(self.command(self.model, self.engine_port))


@contextmanager
def attested(kind: str, model: Path, command: Command) -> Iterator[Attested]:
    """Start an engine and attest it as `smollm2` v1.0.0, until the end of the block.

    Args:
        kind: The engine's name for `dna attest`.
        model: Folder or file.
        command: How the engine is started.
    """
    engine_port, port = free_port(), free_port()
    with ExitStack() as stack:
        engine = subprocess.Popen(command(model, engine_port))
        held = Attested(model, engine_port, port, command, engine)
        stack.callback(held.end)
        options = {
            "--engine": kind, "--pid": engine.pid, "--model": model, "--model-id": "smollm2",
            "--version": "v1.0.0", "--url": f"http://127.0.0.1:{engine_port}", "--listen": f"127.0.0.1:{port}",
            "--interval": 0.2,
        }  # fmt: skip
        words = [str(word) for option in options.items() for word in option]
        attestor = stack.enter_context(subprocess.Popen([sys.executable, "-m", "gateway.cli.main", "attest", *words]))
        stack.callback(attestor.kill)
        yield held
        attestor.send_signal(signal.SIGTERM)
        assert attestor.wait(20) == 0
