"""The gateway as it ships, in a process of its own, reading a folder of documents."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

START_S = 60.0
"""A start takes three seconds on a quiet machine; on a busy one far longer, which is nothing that tests measure."""


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def write_documents(folder: Path, *contracts: Mapping[str, Any], routes: Mapping[str, Any] | None = None) -> None:
    """Write contracts (and one route) under their keys, each file replaced as a whole."""
    for contract in contracts:
        write_text(folder / "contracts" / contract["model_id"] / f"{contract['version']}.json", json.dumps(contract))
    if routes is not None:
        write_text(folder / "routes" / f"{routes['model_id']}.json", json.dumps(routes))


def write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


class GatewayProcess:
    """`with GatewayProcess(folder) as gateway:`; stops it at the end and shows its log when it did not stop well.

    Documents come from `source`, else from the folder; with one that is not there at the start, do not `wait_ready`.
    """

    def __init__(
        self,
        folder: Path,
        *,
        source: str | None = None,
        wait_ready: bool = True,
        probe_interval: float = 0.5,
        **settings: object,
    ) -> None:
        self.folder = folder
        self._source = source or f"file:{folder}"
        self._wait_ready = wait_ready
        self.port, self.admin_port = free_port(), free_port()
        self._probe_interval = probe_interval
        self._settings = {f"GATEWAY_{name.upper()}": str(value) for name, value in settings.items()}
        self._log = tempfile.NamedTemporaryFile()  # noqa: SIM115 - closed when the process has ended
        self._ended_with: str | None = None
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def __enter__(self) -> Self:
        (self.folder / "contracts").mkdir(parents=True, exist_ok=True)
        options = {
            "--source": self._source,
            "--host": "127.0.0.1",
            "--port": self.port,
            "--admin-port": self.admin_port,
            "--probe-interval": self._probe_interval,
        }
        words = [str(word) for option in options.items() for word in option]
        command = [sys.executable, "-m", "gateway.cli.main", "gateway", *words]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("GATEWAY_")}
        environment |= {"GATEWAY_SOURCE_JITTER": "0", "GATEWAY_KEPT_FOLDER": "", **self._settings}
        self.process = subprocess.Popen(command, stdout=self._log, stderr=subprocess.STDOUT, env=environment)
        try:
            ready = "/readyz" if self._wait_ready else "/livez"
            self.wait_for(lambda: self.admin(ready)[0] == 200, what="the gateway to be ready", timeout_s=START_S)
        except BaseException:
            self.process.kill()
            self.process.wait()
            self._log.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.stop()
        finally:
            self._ended_with = self.log()
            self._log.close()

    def stop(self, *, timeout_s: float = 15.0) -> int:
        """Send SIGTERM and wait; gives the exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError("the gateway did not stop:\n" + self.log()[-4000:]) from None
        return code

    def log(self) -> str:
        """All it printed so far."""
        if self._ended_with is not None:
            return self._ended_with
        return Path(self._log.name).read_text("utf-8", "replace")

    def records(self) -> list[dict[str, Any]]:
        """The JSON lines it printed; the access log is written in batches, so look again after a moment."""
        lines = [line for line in self.log().splitlines() if line.startswith("{")]
        return [json.loads(line) for line in lines]

    def admin(self, path: str, *, method: str = "GET", body: bytes | None = None) -> tuple[int, Any]:
        """Ask the admin port; gives status and JSON (or text)."""
        status, _, raw = http(f"http://127.0.0.1:{self.admin_port}{path}", method=method, body=body)
        try:
            return status, json.loads(raw)
        except ValueError:
            return status, raw.decode("utf-8", "replace")

    def status(self) -> dict[str, Any]:
        answer = self.admin("/status")[1]
        assert isinstance(answer, dict)
        return answer

    def instances(self) -> dict[str, dict[str, Any]]:
        """Instances by id, as /status shows them."""
        return {entry["id"]: entry for entry in self.status()["instances"]}

    def wait_verified(self, count: int, *, timeout_s: float = 15.0) -> None:
        self.wait_for(
            lambda: (
                sum(i["identity"] == "verified" and i["liveness"] == "up" for i in self.status()["instances"]) >= count
            ),
            what=f"{count} verified instances",
            timeout_s=timeout_s,
        )

    def wait_for(self, condition: Callable[[], bool], *, what: str, timeout_s: float = 15.0) -> None:
        """Ask until it holds."""
        assert self.process is not None
        deadline = time.monotonic() + timeout_s
        while True:
            with contextlib.suppress(OSError, AssertionError, KeyError):
                if condition():
                    return
            if self.process.poll() is not None:
                raise AssertionError(f"the gateway ended with {self.process.returncode}:\n{self.log()[-4000:]}")
            if time.monotonic() > deadline:
                raise AssertionError(f"waited in vain for {what}; status:\n{self._status_text()}\n{self.log()[-3000:]}")
            time.sleep(0.05)

    def _status_text(self) -> str:
        with contextlib.suppress(OSError, AssertionError):
            return json.dumps(self.status(), indent=1)[:4000]
        return "(none)"


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: object, **kwargs: object) -> None:
        return None


_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect)


def http(
    url: str,
    *,
    method: str = "GET",
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    timeout_s: float = 30,
) -> tuple[int, dict[str, str], bytes]:
    """One request on its own connection: status, headers by small name, body. Errors are answers too."""
    request = urllib.request.Request(url, data=body, method=method, headers=dict(headers or {}))
    try:
        with _OPENER.open(request, timeout=timeout_s) as answer:
            return answer.status, {k.lower(): v for k, v in answer.headers.items()}, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, {k.lower(): v for k, v in error.headers.items()}, error.read()


@contextlib.contextmanager
def running(folder: Path, **settings: Any) -> Iterator[GatewayProcess]:
    """Run a gateway on a folder."""
    with GatewayProcess(folder, **settings) as gateway:
        yield gateway
