"""Writing an answer to the client: our framing, the worker's bytes as they come, and cuts that look cut.

The end marker of a message is written only after the worker's own end marker was read (http.md, rule 4).
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final, Protocol

import msgspec

from gateway.health.liveness import ExchangeOutcome, answer_outcome
from gateway.proxy.answer_head import AnswerHead
from gateway.proxy.chunks import framed
from gateway.proxy.headers import for_client
from gateway.proxy.own import OwnAnswer
from gateway.proxy.problem import Family, openai_error
from gateway.proxy.request import Request
from gateway.proxy.said import CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, DATE, RETRY_AFTER


class Client(Protocol):
    """The client's side of a connection."""

    peer: str
    is_trusted: bool
    """A proxy before the gateway whose forwarding headers are believed."""

    def write(self, data: bytes) -> None:
        """Write bytes."""

    def finished(self, *, keep_alive: bool) -> None:
        """The answer is complete and its exchange has ended."""

    def cut(self, *, reset: bool) -> None:
        """End the connection without the end of the answer; `reset` makes it a RST instead of a FIN."""


def _status_line(status: int) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    return f"HTTP/1.1 {status} {phrase}\r\n".encode()


STATUS_LINES: Final = {status: _status_line(status) for status in range(200, 600)}


_IGNORED: Final = ExchangeOutcome.IGNORED
_EVENT_ENDS = (b"\n\n", b"\r\r", b"\n\r\n", b"\r\r\n")
"""An empty line, whichever line ends a worker mixes."""


class Relay:
    """One answer on its way to one client."""

    __slots__ = (
        "_chunked", "_client", "_head", "_is_event_stream", "_request", "_tail", "bytes_out", "is_stream", "is_workers",
        "keep_alive", "outcome", "status",
    )  # fmt: skip

    def __init__(self, client: Client, request: Request, *, keep_alive: bool) -> None:
        self._client = client
        self._request = request
        self.keep_alive = keep_alive
        self._head: bytes | None = None
        self._chunked = self._is_event_stream = False
        self._tail = b""
        self.status: int | None = None
        """Status of the answer once its head is made: from then on there is no other."""
        self.is_stream = False
        """Events, whose end nobody can tell beforehand."""
        self.is_workers = False
        """A worker made the answer."""
        self.outcome = _IGNORED
        """What a complete answer of this head says of the worker's liveness."""
        self.bytes_out = 0

    def begin(self, head: AnswerHead, stamps: bytes, *, date: bytes) -> None:
        """Make the head; it leaves with the first bytes of the body, or with the next call of `data`."""
        self.status, self.is_workers = head.status, True
        said = head.said
        lines = for_client(head.lines, head.named)
        self.outcome = answer_outcome(head.status, retry_after=said[RETRY_AFTER] is not None)
        extra = b"" if said[DATE] is not None else b"date: %b\r\n" % date
        if (said[CONTENT_TYPE] or b"")[:17].lower() == b"text/event-stream":
            self.is_stream = True
            self._is_event_stream = said[CONTENT_ENCODING] is None
            extra += b"x-accel-buffering: no\r\n"
            extra += b"" if said[CACHE_CONTROL] is not None else b"cache-control: no-cache\r\n"
        framing = self._framing(head)
        self._head = b"".join(
            (STATUS_LINES[head.status], lines, extra, framing, stamps, self._connection_line(), b"\r\n")
        )

    def own(self, answer: OwnAnswer, *, date: bytes) -> None:
        """Write an answer of ours, whole."""
        status, lines, body = answer.status, answer.lines, answer.body
        self.status = status
        framing = b"date: %b\r\ncontent-length: %d\r\n" % (date, len(body))
        self._head = b"".join((STATUS_LINES[status], framing, lines, self._connection_line(), b"\r\n"))
        self.data(b"" if self._request.method == "HEAD" else body)

    def _connection_line(self) -> bytes:
        if not self.keep_alive:
            return b"connection: close\r\n"
        return b"connection: keep-alive\r\n" if self._request.version == "1.0" else b""

    def _framing(self, head: AnswerHead) -> bytes:
        if not head.has_body:
            # A length is told for HEAD and 304 as the worker told it; 204 has none (RFC 9110 section 8.6).
            states_length = head.status != 204 and head.said[CONTENT_LENGTH] is not None
            return b"content-length: %d\r\n" % head.length if states_length and head.length is not None else b""
        if head.length is not None:
            return b"content-length: %d\r\n" % head.length
        if self._request.version == "1.0":
            self.keep_alive = False
            return b""
        self._chunked = True
        return b"transfer-encoding: chunked\r\n"

    def data(self, data: bytes, *, complete: bool = False) -> None:
        """Write what one read brought, in one write; with the last of it the answer's end marker."""
        self.bytes_out += len(data)
        out = data
        if self._chunked:
            out = framed(data)
            if complete:
                out += b"0\r\n\r\n"
        if self._is_event_stream and data:
            self._tail = data[-4:] if len(data) >= 4 else (self._tail + data)[-4:]
        if self._head is not None:
            out, self._head = self._head + out, None
        if out:
            self._client.write(out)

    def cut(self, *, code: str, detail: str, family: Family, path: bytes) -> bool:
        """Write what a cut answer may still say; tell whether the connection must end in a reset.

        There is no last chunk, so that no client takes the answer for whole.
        An event stream gets one error event if the bytes so far end between two events (clients.md section 5).
        """
        if self._is_event_stream and (not self._tail or self._tail.endswith(_EVENT_ENDS)):
            self.data(error_event(code=code, detail=detail, family=family, path=path))
            return False
        if self._head is not None:
            self.data(b"")
        return not self._chunked and self._request.version == "1.0" and not self._is_event_stream


def error_event(*, code: str, detail: str, family: Family, path: bytes) -> bytes:
    """Shape the one event that tells a client its stream failed, as its API family reads it."""
    if family is Family.OPENAI:
        body: dict[str, Any] = {"error": openai_error(502, code, detail) | {"type": "upstream_error"}}
    elif family is Family.OPEN_INFERENCE:
        body = {"error": f"{code}: {detail}"}
    elif path.endswith(b"/generate_stream"):
        body = {"error": f"{code}: {detail}", "error_type": "upstream_error"}
    else:
        problem = {"type": f"urn:inference-gateway:{code}", "status": 502, "code": code, "detail": detail}
        return b"event: error\ndata: " + msgspec.json.encode(problem) + b"\n\n"
    return b"data: " + msgspec.json.encode(body) + b"\n\n"
