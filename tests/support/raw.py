"""Raw bytes in, raw bytes out: one connection, no client library between."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass, field
from typing import Self


@dataclass
class Response:
    """One response as it stood on the wire."""

    status: int
    head: bytes
    body: bytes
    complete: bool

    def header(self, name: str) -> str | None:
        values = self.headers(name)
        return values[0] if values else None

    def headers(self, name: str) -> list[str]:
        found = []
        for line in self.head.split(b"\r\n")[1:]:
            key, _, value = line.partition(b":")
            if key.strip().lower() == name.lower().encode():
                found.append(value.strip().decode("latin-1"))
        return found


@dataclass
class Conversation:
    """What came back on one connection, and whether the peer closed it."""

    data: bytes = b""
    closed: bool = False
    reset: bool = False
    responses: list[Response] = field(default_factory=list)


class Wire:
    """The client's side of one connection, open until the `with` ends."""

    def __init__(
        self, port: int, *, host: str = "127.0.0.1", source: str | None = None, timeout_s: float = 5.0
    ) -> None:
        address = (source, 0) if source is not None else None
        self._sock = socket.create_connection((host, port), timeout=timeout_s, source_address=address)
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.conversation = Conversation()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._sock.close()

    def send(self, data: bytes) -> bool:
        """Write bytes; says whether the peer took them."""
        try:
            self._sock.sendall(data)
        except OSError:
            return False
        return True

    def read(self, seconds: float, *, until: int | None = None) -> Conversation:
        """Read what comes for so long, until the peer closes, or until so many final responses are complete."""
        conversation, deadline = self.conversation, time.monotonic() + seconds
        while not conversation.closed and (left := deadline - time.monotonic()) > 0:
            self._sock.settimeout(left)
            try:
                data = self._sock.recv(65536)
            except TimeoutError:
                break
            except ConnectionError:
                conversation.closed = conversation.reset = True
                break
            conversation.closed = not data
            conversation.data += data
            if until is not None and _complete_finals(conversation.data) >= until:
                break
        conversation.responses = parse_responses(conversation.data, closed=conversation.closed)
        return conversation


def talk(
    port: int,
    segments: list[bytes],
    *,
    gap_s: float = 0.0,
    wait_s: float = 2.0,
    host: str = "127.0.0.1",
    until: int | None = None,
) -> Conversation:
    """Send segments, each one write, and read what comes for `wait_s` after the last (or until so many responses)."""
    with Wire(port, host=host) as wire:
        for number, segment in enumerate(segments):
            if number and gap_s:
                wire.read(gap_s)
            if not wire.send(segment):
                break
        return wire.read(wait_s, until=until)


def _complete_finals(data: bytes) -> int:
    return sum(r.complete and r.status >= 200 for r in parse_responses(data, closed=False))


def parse_responses(data: bytes, *, closed: bool) -> list[Response]:
    """Cut the bytes of one connection into responses, bodies decoded of their chunks; the last may be incomplete."""
    responses: list[Response] = []
    while data:
        head, mark, rest = data.partition(b"\r\n\r\n")
        if not mark or not head.startswith(b"HTTP/1."):
            responses.append(Response(0, head, b"", complete=False))
            return responses
        response = Response(int(head.split(b" ")[1]), head, b"", complete=False)
        responses.append(response)
        if 100 <= response.status < 200 or response.status in (204, 304):
            response.complete, data = True, rest
        elif response.header("transfer-encoding") == "chunked":
            response.body, response.complete, data = _read_chunks(rest)
        elif (length := response.header("content-length")) is not None:
            response.body, data = rest[: int(length)], rest[int(length) :]
            response.complete = len(response.body) == int(length)
        else:
            response.body, response.complete, data = rest, closed, b""
    return responses


def _read_chunks(data: bytes) -> tuple[bytes, bool, bytes]:
    body = b""
    while True:
        line, mark, rest = data.partition(b"\r\n")
        if not mark:
            return body, False, b""
        size = int(line.split(b";")[0], 16)
        if size == 0:
            return body, rest.startswith(b"\r\n"), rest[2:]
        if len(rest) < size + 2:
            return body + rest[:size], False, b""
        body, data = body + rest[:size], rest[size + 2 :]


def request(method: str, path: str, *headers: str, body: bytes = b"", close: bool = False) -> bytes:
    """Write a plain request."""
    lines = [f"{method} {path} HTTP/1.1", "Host: gateway", *headers]
    if body or method in ("POST", "PUT", "PATCH"):
        lines.append(f"Content-Length: {len(body)}")
    if close:
        lines.append("Connection: close")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body
