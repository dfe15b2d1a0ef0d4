"""The built-in client against a small real server."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bench.load.client import Client

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
REFUSED = b"HTTP/1.1 503 X\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"


@contextmanager
def server(answer: bytes, *, pause_s: float = 0.0) -> Iterator[int]:
    """Answer everything the same on loopback; an answer with `Connection: close` closes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_accept, args=(listener, answer, pause_s), daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def _accept(listener: socket.socket, answer: bytes, pause_s: float) -> None:
    while True:
        try:
            sock, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=_serve, args=(sock, answer, pause_s), daemon=True).start()


def _serve(sock: socket.socket, answer: bytes, pause_s: float) -> None:
    with sock:
        while sock.recv(65536):
            time.sleep(pause_s)
            sock.sendall(answer)
            if b"close" in answer:
                return


def test_a_closed_loop_asks_again_when_answered() -> None:
    with server(OK, pause_s=0.01) as port, Client(port, [b"{}"], connections=2) as client:
        report = client.run(0.5, None)

    assert (report.bad_status, report.broken) == (0, 0)
    assert 2 <= report.requests <= 2 * 0.5 / 0.01 + 2
    assert report.p50_ms >= 10


def test_an_open_loop_sends_at_its_rate() -> None:
    with server(OK) as port, Client(port, [b"{}"], connections=4) as client:
        report = client.run(0.5, 100)

    assert report.requests == pytest.approx(50, abs=2)


def test_a_stall_is_charged_to_everybody_who_waited() -> None:
    """One connection, answers after 50 ms, a request due every 10 ms: the last ones waited for all before them."""
    with server(OK, pause_s=0.05) as port, Client(port, [b"{}"], connections=1) as client:
        report = client.run(0.5, 100)

    assert report.p99_ms > 200


def test_refusals_and_closed_connections_are_counted_apart() -> None:
    with server(REFUSED) as port, Client(port, [b"{}"], connections=1) as client:
        report = client.run(0.2, 50)

    assert report.bad_status == report.requests > 0
    assert report.broken == 0
