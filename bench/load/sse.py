"""The streaming client, a process: opens streams, lets them settle, and counts the events of a window.

It reads the proxy's CPU clock itself, at the edges of the very window in which it counts.
"""

from __future__ import annotations

import argparse
import gc
import select
import socket
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from bench.load.window import Window
from bench.work import request_body, request_message

SETTLE_S = 1.0
OPEN_S = 20.0


class StreamReport(msgspec.Struct, frozen=True):
    """What one window saw; `cpu_us` is the proxy's CPU time per event, `busy` and `foreign` as in `Spent`."""

    streams: int
    lost: int
    events: int
    reads: int
    events_per_s: float
    cpu_us: float
    busy: float
    foreign: float


class Watched(NamedTuple):
    """Whose time the window takes: process ids and core numbers, as `Window` wants them."""

    proxy: Sequence[int]
    rest: Sequence[int]
    cores: Sequence[int]


class Streams:
    """Open streams to one proxy; `count()` is the number of events read so far."""

    def __init__(self, port: int, number: int) -> None:
        self._poll = select.epoll()
        self._socks = {sock.fileno(): sock for sock in (_open(port) for _ in range(number))}
        self._tails = dict.fromkeys(self._socks, b"")
        for fileno in self._socks:
            self._poll.register(fileno, select.EPOLLIN)
        self.events = self.reads = self.lost = 0

    @property
    def silent(self) -> int:
        """How many have not brought an event yet."""
        return sum(not tail for tail in self._tails.values())

    def pump(self, seconds: float) -> None:
        """Read for so long."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            for fileno, _ in self._poll.poll(left):
                self._read(fileno)

    def _read(self, fileno: int) -> None:
        data = self._socks[fileno].recv(65536)
        self.reads += 1
        if not data:
            self.lost += 1
            self._poll.unregister(fileno)
            return
        # An event's first bytes may be cut by the end of a read; `data: ` never is inside an event of ours.
        data = self._tails[fileno] + data
        self.events += data.count(b"data: ")
        self._tails[fileno] = data[-5:]


def _open(port: int) -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", port), timeout=OPEN_S)
    sock.sendall(request_message(request_body(stream=True)))
    return sock


def measure(port: int, *, streams: int, seconds: float, watched: Watched) -> StreamReport:
    """Open, settle, count."""
    opened = Streams(port, streams)
    deadline = time.monotonic() + OPEN_S
    while opened.silent and time.monotonic() < deadline:
        opened.pump(0.1)
    opened.pump(SETTLE_S)
    window, events, reads = Window(watched.proxy, watched.rest, watched.cores), opened.events, opened.reads
    opened.pump(seconds)
    spent = window.spent()
    seen = opened.events - events
    return StreamReport(
        streams=streams,
        lost=opened.lost + opened.silent,
        events=seen,
        reads=opened.reads - reads,
        events_per_s=seen / spent.wall_s,
        cpu_us=spent.cpu_s / seen * 1e6 if seen else 0.0,
        busy=spent.busy,
        foreign=spent.foreign,
    )


def main() -> None:
    """Measure once and print the report as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--proxy", type=int, nargs="*", default=[], help="the proxy's processes")
    parser.add_argument("--rest", type=int, nargs="*", default=[], help="other processes of the benchmark")
    parser.add_argument("--cores", type=int, nargs="*", default=[], help="the cores they are pinned to")
    options = parser.parse_args()
    gc.disable()
    watched = Watched(options.proxy, options.rest, options.cores)
    report = measure(options.port, streams=options.streams, seconds=options.seconds, watched=watched)
    sys.stdout.buffer.write(msgspec.json.encode(report))


if __name__ == "__main__":
    main()
