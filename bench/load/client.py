"""The built-in load client, a process: closed loop (a connection asks again when answered) or open loop (fixed rate).

In the open loop request number k is due at k / rate after the start, whatever became of the ones before it; it goes
out on a connection that is free, or waits for one, and its latency counts from the moment it was due. A server that
stalls is therefore charged for everybody it kept waiting.
Plain sockets and `select`: its timeout is exact to microseconds, an event loop's only to milliseconds.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import select
import socket
import sys
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import msgspec

from bench.load.answers import complete
from bench.numbers import percentile, percentile_within
from bench.work import request_message

GRACE_S = 5.0
"""How long answers may still come after the last request went out."""
_TENTH_S = 0.1
_PR_SET_TIMERSLACK = 29


class ClientReport(msgspec.Struct, frozen=True):
    """What one run measured; milliseconds, except `duration_s` which lasts from the first due time to the last answer.

    `late_ms` is the 99th percentile of how late requests went out: above the latencies' own order, the client and not
    the proxy was the limit. `tenth_p99_ms` is the p99 within a tenth of a second, the median of all tenths: something
    that takes a core away once in a second makes up `p99_ms` and does not touch it.
    """

    requests: int
    duration_s: float
    bad_status: int
    broken: int
    p50_ms: float
    p99_ms: float
    p999_ms: float
    late_ms: float
    tenth_p99_ms: float


class Client:
    """One run over a fixed set of connections: `with Client(...) as client: client.run(...)`."""

    def __init__(self, port: int, bodies: Sequence[bytes], connections: int) -> None:
        self._port = port
        self._messages = [request_message(body) for body in bodies]
        self._idle = deque(self._connect() for _ in range(connections))
        self._due: dict[socket.socket, float] = {}
        self._data: dict[socket.socket, bytes] = {}
        self._latencies: list[float] = []
        self._answered: list[float] = []  # when each of them was due
        self._late: list[float] = []
        self._sent = self._bad_status = self._broken = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for sock in (*self._idle, *self._due):
            sock.close()

    def run(self, seconds: float, rate: float | None) -> ClientReport:
        """Send for so long; `rate` in requests per second, None for a closed loop."""
        now = time.perf_counter
        start = now()
        end = start + seconds
        while (moment := now()) < end:
            self._send_due(start, moment, rate)
            self._receive(self._patience(start, end, rate))
        last = self._finish(end + GRACE_S)
        return self._report(start, last)

    def _send_due(self, start: float, moment: float, rate: float | None) -> None:
        while self._idle:
            due = moment if rate is None else start + self._sent / rate
            if due > moment:
                return
            self._send(self._idle.popleft(), due)

    def _send(self, sock: socket.socket, due: float) -> None:
        self._due[sock], self._data[sock] = due, b""
        message = self._messages[self._sent % len(self._messages)]
        self._sent += 1
        self._late.append(time.perf_counter() - due)
        try:
            sock.sendall(message)
        except OSError:
            self._replace(sock)

    def _patience(self, start: float, end: float, rate: float | None) -> float:
        now = time.perf_counter()
        if rate is None or not self._idle:
            return max(end - now, 0.0)
        return max(min(start + self._sent / rate, end) - now, 0.0)

    def _receive(self, timeout_s: float) -> None:
        readable, _, _ = select.select(self._due, (), (), timeout_s)
        for sock in readable:
            self._read(sock)

    def _read(self, sock: socket.socket) -> None:
        try:
            data = sock.recv(65536)
        except OSError:
            data = b""
        if not data:
            self._replace(sock)
            return
        self._data[sock] += data
        answer = complete(self._data[sock])
        if answer is None:
            return
        due = self._due.pop(sock)
        self._latencies.append(time.perf_counter() - due)
        self._answered.append(due)
        self._bad_status += answer.status != 200
        self._idle.append(sock if answer.keeps else self._reopened(sock))

    def _replace(self, sock: socket.socket) -> None:
        self._broken += 1
        del self._due[sock]
        self._idle.append(self._reopened(sock))

    def _reopened(self, sock: socket.socket) -> socket.socket:
        sock.close()
        return self._connect()

    def _finish(self, deadline: float) -> float:
        while self._due and (now := time.perf_counter()) < deadline:
            self._receive(deadline - now)
        self._broken += len(self._due)
        return time.perf_counter()

    def _connect(self) -> socket.socket:
        sock = socket.create_connection(("127.0.0.1", self._port), timeout=10)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock

    def _report(self, start: float, last: float) -> ClientReport:
        ordered = sorted(self._latencies)
        moments = [due - start for due in self._answered]
        return ClientReport(
            requests=len(ordered),
            duration_s=last - start,
            bad_status=self._bad_status,
            broken=self._broken,
            p50_ms=percentile(ordered, 0.5) * 1e3,
            p99_ms=percentile(ordered, 0.99) * 1e3,
            p999_ms=percentile(ordered, 0.999) * 1e3,
            late_ms=percentile(sorted(self._late), 0.99) * 1e3,
            tenth_p99_ms=percentile_within(moments, self._latencies, 0.99, window=_TENTH_S) * 1e3,
        )


def _sharpen_timers() -> None:
    """Let the kernel wake us on time; by default it may be 50 µs late to save power."""
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)


def main() -> None:
    """Run once and print the report as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--bodies", type=Path, required=True, help="a file with one request body per line")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rate", type=float, help="requests per second; without it a closed loop")
    options = parser.parse_args()
    _sharpen_timers()
    gc.disable()
    with Client(options.port, options.bodies.read_bytes().splitlines(), options.connections) as client:
        report = client.run(options.seconds, options.rate)
    sys.stdout.buffer.write(msgspec.json.encode(report))


if __name__ == "__main__":
    main()
