"""Answers `/healthz` for an attested engine (dna.md section 6). Nothing else is served here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET, AF_INET6
from urllib.parse import urlsplit

from inference_dna.attest.attestor import Attestor
from inference_dna.canonical import Refused
from inference_dna.serving.stamp import Headers

PATH = "/healthz"
Answer = Callable[[str], tuple[HTTPStatus, Headers, bytes]]


@dataclass(frozen=True, slots=True)
class Listen:
    """Where to listen; an empty host is every address."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Listen:
        """Read `HOST:PORT`, `:PORT` or `[HOST]:PORT`.

        Raises:
            Refused: It is anything else.
        """
        try:
            parts = urlsplit(f"//{text}")
            port = parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        if port is None or parts.netloc != text or parts.path:
            raise Refused(f"{text!a} is no place to listen; write HOST:PORT, or :PORT for every address.")
        return cls(parts.hostname or "", port)


def open_server(listen: Listen, attestor: Attestor) -> ThreadingHTTPServer:
    """Open the socket; the caller serves and closes it.

    Raises:
        Refused: The place is taken or is none of this machine.
    """
    server = type("Server", (_Server,), {"address_family": AF_INET6 if ":" in listen.host else AF_INET})
    handler = type("Handler", (_Handler,), {"answer": staticmethod(attestor.answer)})
    try:
        opened: ThreadingHTTPServer = server((listen.host, listen.port), handler)
    except OSError as error:
        raise Refused(f"Listening on {listen.host}:{listen.port} failed: {error.strerror}.") from error
    return opened


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that left in the middle is no news."""
        del request, client_address
        error = sys.exception()
        if not isinstance(error, OSError):
            sys.stderr.write(f"An answer failed: {error!r}\n")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30
    """Seconds that a client may be silent."""
    answer: Answer

    def do_GET(self) -> None:
        """Answer whole."""
        self._answer()

    def do_HEAD(self) -> None:
        """Answer status and headers alone."""
        self._answer()

    def do_POST(self) -> None:
        """Refuse: there is nothing to send here."""
        self.close_connection = True
        self._answer()

    def log_message(self, format: str, *args: object) -> None:
        """Probes come every few seconds; nobody wants a line for each."""
        del format, args

    def _answer(self) -> None:
        if urlsplit(self.path).path != PATH:
            self._send(HTTPStatus.NOT_FOUND, [("content-length", "0")], b"")
            return
        self._send(*self.answer(self.command))

    def _send(self, status: HTTPStatus, headers: Headers, body: bytes) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
