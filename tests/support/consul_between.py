"""A proxy before the real Consul that spoils replies: for what Consul 1.8 itself cannot be made to do."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

from tests.support.consul import HOST, ConsulAgent

_NOT_PASSED_ON = {"content-length", "transfer-encoding", "content-encoding", "connection", "date"}


@dataclass
class Spoiled:
    """A reply on its way; change what you like.

    Attributes:
        cut: Close the connection after so many bytes of the body; None: send all of it.
    """

    status: int
    headers: dict[str, str]
    body: bytes
    cut: int | None = None


@dataclass
class Between:
    """The proxy.

    Attributes:
        spoil: Is called with every reply to a read of many keys.
        lose: Says of a write, by its path and after it was done, whether its reply is lost on the way.
    """

    port: int
    spoil: Callable[[Spoiled], None] = field(default=lambda reply: None)
    lose: Callable[[str], bool] = field(default=lambda path: False)

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"


@contextmanager
def between(agent: ConsulAgent) -> Iterator[Between]:
    """Run a proxy for the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            try:
                got = httpx.get(agent.url + self.path, trust_env=False, timeout=90)
            except httpx.HTTPError:  # the agent ended while the read waited
                self.close_connection = True
                return
            passed = {name: value for name, value in got.headers.items() if name not in _NOT_PASSED_ON}
            reply = Spoiled(got.status_code, passed, got.content)
            if "recurse" in self.path or "keys" in self.path:
                proxy.spoil(reply)
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(reply.body)))
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(reply.body if reply.cut is None else reply.body[: reply.cut])
            self.close_connection = reply.cut is not None

        def do_PUT(self) -> None:
            content = self.rfile.read(int(self.headers.get("content-length", 0)))
            done = httpx.put(agent.url + self.path, content=content, trust_env=False, timeout=90)
            if proxy.lose(self.path):
                self.close_connection = True
                return
            self.send_response(done.status_code)
            self.send_header("content-length", str(len(done.content)))
            self.end_headers()
            self.wfile.write(done.content)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer((HOST, 0), Handler)
    server.daemon_threads = True
    proxy = Between(server.server_port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
