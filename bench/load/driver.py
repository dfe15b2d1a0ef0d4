"""Starts the load generators on their cores and reads what they measured."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bench.cores import CoreSplit, pinned
from bench.load.client import GRACE_S, ClientReport
from bench.load.sse import OPEN_S, SETTLE_S, StreamReport
from bench.load.window import Spent, Window
from bench.places import ROOT
from bench.work import PATH, request_body

_SPARE_S = 20.0
_WRK_SCRIPT = Path(__file__).with_name("wrk.lua")
BUILT_IN = "built-in client"


class LoadError(Exception):
    """A load generator failed; the message holds what it said."""


@dataclass(frozen=True, slots=True)
class Target:
    """One proxy under load: its port and its processes."""

    port: int
    pids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Closed:
    """One closed-loop run; `failures` are answers other than 200 and broken connections."""

    requests: int
    requests_per_s: float
    p50_ms: float
    p99_ms: float
    failures: int
    spent: Spent

    @property
    def cpu_us(self) -> float:
        """CPU microseconds of the proxy per request."""
        return self.spent.cpu_s / self.requests * 1e6 if self.requests else 0.0


class _WrkReport(msgspec.Struct, frozen=True):
    requests: int
    duration_us: int
    bad_status: int
    broken: int
    p50_us: int
    p99_us: int


class Driver:
    """Load from the cores that are meant for it.

    Args:
        cores: Who runs where.
        folder: Where the request bodies are written, once.
        rest: The upstream's processes, whose time is not a stranger's.
        models: The models that requests name in turn; by default the one.
    """

    def __init__(self, cores: CoreSplit, folder: Path, *, rest: Sequence[int] = (), models: Sequence[str] = ()) -> None:
        self._cores, self._rest = cores, rest
        self._wrk = shutil.which("wrk")
        self._bodies = folder / "bodies.txt"
        bodies = [request_body(model) for model in models] or [request_body()]
        self._bodies.write_bytes(b"\n".join(bodies) + b"\n")

    @property
    def closed_by(self) -> str:
        """What drives the closed loop."""
        return f"wrk {_wrk_version(self._wrk)}" if self._wrk else BUILT_IN

    def closed(self, target: Target, *, connections: int, seconds: float) -> Closed:
        """As fast as the proxy answers over so many connections.

        Raises:
            LoadError: The load generator itself failed.
        """
        window = Window(target.pids, self._rest, self._cores.all)
        if self._wrk:
            return _from_wrk(self._run_wrk(target.port, connections, seconds), window.spent())
        report = self._run_client(target.port, connections, seconds, rate=None)
        return _from_client(report, window.spent())

    def open(self, target: Target, *, rate: float, connections: int, seconds: float) -> ClientReport:
        """So many requests per second, whatever becomes of them.

        Raises:
            LoadError: The load generator itself failed.
        """
        return self._run_client(target.port, connections, seconds, rate=rate)

    def streams(self, target: Target, *, streams: int, seconds: float) -> StreamReport:
        """So many streams at once.

        Raises:
            LoadError: The load generator itself failed.
        """
        flags = ["--port", target.port, "--streams", streams, "--seconds", seconds]
        watched = ["--proxy", *target.pids, "--rest", *self._rest, "--cores", *self._cores.all]
        output = self._run(_module("bench.load.sse", *flags, *watched), seconds + SETTLE_S + 2 * OPEN_S)
        return msgspec.json.decode(output, type=StreamReport)

    def _run_wrk(self, port: int, connections: int, seconds: float) -> _WrkReport:
        url = f"http://127.0.0.1:{port}{PATH}"
        # wrk takes whole seconds only.
        flags = ["-t1", f"-c{connections}", f"-d{max(round(seconds), 1)}s", "--timeout", "10s", "-s", str(_WRK_SCRIPT)]
        output = self._run([str(self._wrk), *flags, url, "--", str(self._bodies)], seconds + _SPARE_S)
        _, found, line = output.partition(b"RESULT ")
        if not found:
            raise LoadError(f"wrk gave no result: {output.decode('utf-8', 'replace')}")
        return msgspec.json.decode(line, type=_WrkReport)

    def _run_client(self, port: int, connections: int, seconds: float, *, rate: float | None) -> ClientReport:
        flags = ["--port", port, "--bodies", self._bodies, "--connections", connections, "--seconds", seconds]
        flags += [] if rate is None else ["--rate", rate]
        output = self._run(_module("bench.load.client", *flags), seconds + GRACE_S + _SPARE_S)
        return msgspec.json.decode(output, type=ClientReport)

    def _run(self, command: Sequence[str], timeout_s: float) -> bytes:
        with pinned(self._cores.load):
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)
        try:
            output, said = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired as error:
            raise LoadError(f"{Path(command[0]).name} took longer than {timeout_s:.0f} s") from error
        finally:
            process.kill()
            process.wait()
        if process.returncode:
            raise LoadError(f"{Path(command[0]).name} failed: {said.decode('utf-8', 'replace')[-2000:]}")
        return output


def _from_wrk(report: _WrkReport, spent: Spent) -> Closed:
    return Closed(
        requests=report.requests,
        requests_per_s=report.requests / report.duration_us * 1e6,
        p50_ms=report.p50_us / 1e3,
        p99_ms=report.p99_us / 1e3,
        failures=report.bad_status + report.broken,
        spent=spent,
    )


def _from_client(report: ClientReport, spent: Spent) -> Closed:
    return Closed(
        requests=report.requests,
        requests_per_s=report.requests / report.duration_s,
        p50_ms=report.p50_ms,
        p99_ms=report.p99_ms,
        failures=report.bad_status + report.broken,
        spent=spent,
    )


def _module(name: str, *arguments: object) -> list[str]:
    return [sys.executable, "-m", name, *map(str, arguments)]


def _wrk_version(program: str) -> str:
    # It prints its version with its usage, and exits with 1 after that.
    done = subprocess.run([program, "-v"], capture_output=True, text=True, timeout=10, check=False)
    words = (done.stdout + done.stderr).split()
    return words[1].removeprefix("debian/").partition("-")[0] if len(words) > 1 else "unknown"
