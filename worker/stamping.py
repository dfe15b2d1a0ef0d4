"""Puts the worker's identity on every answer: its own, its errors, and what the HTTP server refuses by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from inference_dna.headers import INPUT_HASH
from inference_dna.measure.healthz import Served, stamps
from worker.lifecycle import Lifecycle

RawHeaders = list[tuple[bytes, bytes]]
_INPUT_HASH = INPUT_HASH.encode()


class Stamps:
    """Writes the headers of an answer from what was measured; before that there is nothing to say."""

    def __init__(self, lifecycle: Lifecycle, served: Served) -> None:
        self._lifecycle = lifecycle
        self._served = served

    def headers(self, input_hash: str = "") -> RawHeaders:
        """The headers, empty while nothing is measured. `input_hash` is 64 hex, or empty where nothing was hashed."""
        loaded = self._lifecycle.state.loaded
        if loaded is None:
            return []
        stamped = stamps(loaded.genome.digests, self._served, input_hash=input_hash)
        return [(name.encode(), value.encode()) for name, value in stamped]


class Stamped:
    """An application whose every answer carries the stamps; the outermost layer, so that no error escapes it.

    An answer says what it was computed from by the input hash header alone; the DNA follows from it here.
    """

    def __init__(self, app: ASGIApp, stamps: Stamps) -> None:
        self._app = app
        self._stamps = stamps

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection scope."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def stamping(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = self._stamp(message.get("headers", []))
            await send(message)

        await self._app(scope, receive, stamping)

    def _stamp(self, headers: Iterable[tuple[bytes, bytes]]) -> RawHeaders:
        others = [(name, value) for name, value in headers if name != _INPUT_HASH]
        input_hash = next((value.decode() for name, value in headers if name == _INPUT_HASH), "")
        return [*others, *self._stamps.headers(input_hash)]


def stamping_protocol(stamps: Callable[[], RawHeaders]) -> type[HttpToolsProtocol]:
    """Make the HTTP protocol whose refusal of malformed HTTP is stamped too; no application ever sees that request.

    Args:
        stamps: Gives the headers of this moment.
    """

    class StampingProtocol(HttpToolsProtocol):
        def send_400_response(self, msg: str) -> None:
            headers = [
                *stamps(),
                (b"content-type", b"text/plain; charset=utf-8"),
                (b"content-length", str(len(msg)).encode()),
                (b"connection", b"close"),
            ]
            head = b"".join([name + b": " + value + b"\r\n" for name, value in headers])
            self.transport.write(b"HTTP/1.1 400 Bad Request\r\n" + head + b"\r\n" + msg.encode())
            self.transport.close()

    return StampingProtocol
