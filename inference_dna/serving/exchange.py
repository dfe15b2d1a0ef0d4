"""One HTTP exchange as it passes through the middleware: the request watched, the answer stamped, the line written.

The head of an answer waits for its body only where the application has said the length and a receipt must stand in the
head; everything else is passed on as it comes.
"""

from __future__ import annotations

import json
from dataclasses import replace
from http import HTTPStatus

from inference_dna import headers as names
from inference_dna.serving.asgi import App, Message, Receive, Scope, Send, answer, first_value, raw
from inference_dna.serving.body_hash import StreamHash, WholeHash
from inference_dna.serving.problem import MEDIA_TYPE, problem_document
from inference_dna.serving.receipt import COMMENT, HEADER, NONCE, ReceiptKey
from inference_dna.serving.request_tap import RequestTap
from inference_dna.serving.stamp import (
    REQUEST_ID,
    Exchanged,
    Headers,
    Write,
    prepare,
    usable_nonce,
)
from inference_dna.serving.standing import Standing

INPUT_HASH_KEY = "inference_dna.input_hash"
"""Where in the scope an application says what it fed to the model."""
LOG_KEY = "inference_dna.log"
"""Where in the scope an application leaves members for the log line."""

_OURS = frozenset(
    name.encode()
    for name in (
        names.DNA,
        names.DIGEST,
        names.INPUT_HASH,
        names.MODEL_ID,
        names.MODEL_VERSION,
        names.ASSURANCE,
        names.FORMAT,
        REQUEST_ID,
        HEADER,
    )
)
_EVENT_STREAM = "text/event-stream"
_RETRY_S = "1"


class Exchange:
    """One request and its answer; `run` is called once.

    Args:
        standing: The worker's.
        scope: The connection scope.
        receipts: The key that signs; None signs nothing.
        write: Takes the log line.

    Raises:
        Refused: The worker is not `ok`.
    """

    def __init__(self, standing: Standing, scope: Scope, receipts: ReceiptKey | None, write: Write) -> None:
        self._standing, self._scope, self._write = standing, scope, write
        self._stamped = prepare(standing, request_id=first_value(scope["headers"], REQUEST_ID))
        self._status: int | None = None
        self._held: Message | None = None
        self._body: StreamHash | WholeHash = WholeHash()
        # None as soon as it is clear that this answer cannot be signed.
        self._key = None if scope["method"] == "HEAD" else receipts
        self._is_complete = self._is_abandoned = self._is_told = False

    async def run(self, app: App, receive: Receive, send: Send) -> None:
        """Let the application answer; the log line is written once, however it ends."""
        self._send, self._tap = send, RequestTap(receive, self._scope)
        try:
            await app(self._scope, self._tap, self._pass)
        finally:
            self._tell()

    async def _pass(self, message: Message) -> None:
        if self._is_abandoned:
            return
        if message["type"] == "http.response.start":
            await self._start(message)
        elif message["type"] == "http.response.body":
            await self._pass_body(message)
        else:
            # Files sent by path and the like: their bytes are not seen here, so nothing can be signed.
            self._key = None
            await self._release()
            await self._send(message)

    async def _start(self, message: Message) -> None:
        sent = message.get("headers", [])
        self._status = message["status"]
        if not self._stamped.is_current:
            await self._start_unknown(message)
            return
        self._stamped = replace(self._stamped, input_hash=self._input_hash(sent))
        others = [(name, value) for name, value in sent if name.lower() not in _OURS]
        stamped = {**message, "headers": [*others, *raw(self._stamped.headers)]}
        has_length = first_value(others, "content-length") is not None
        if (first_value(others, "content-type") or "").partition(";")[0].strip().lower() == _EVENT_STREAM:
            self._body = StreamHash()
        if first_value(others, "content-encoding") is not None:
            self._key = None
        if self._key is not None and has_length:
            self._held = stamped
            return
        if not isinstance(self._body, StreamHash):
            self._key = None
        await self._send(stamped)

    async def _start_unknown(self, message: Message) -> None:
        """Something inside changed since the request came, so nobody can say what made this answer: it is not given.

        A failure is given, without stamps: it says nothing that a model computed, and may say what went wrong.
        """
        self._key = None
        if message["status"] >= HTTPStatus.INTERNAL_SERVER_ERROR:
            others = [(name, value) for name, value in message.get("headers", []) if name.lower() not in _OURS]
            await self._send({**message, "headers": others})
            return
        self._is_abandoned, self._status = True, HTTPStatus.SERVICE_UNAVAILABLE.value
        await answer(self._send, HTTPStatus.SERVICE_UNAVAILABLE, *not_ready(self._standing, self._scope["path"]))

    def _input_hash(self, headers: list[tuple[bytes, bytes]]) -> str:
        """What the application said, in the scope or by header; else, for an answer that is no error, the body's."""
        told = self._scope.get(INPUT_HASH_KEY) or first_value(headers, names.INPUT_HASH)
        if told is not None:
            return str(told)
        is_error = self._status is not None and self._status >= HTTPStatus.BAD_REQUEST
        return "" if is_error else self._tap.input_hash()

    async def _pass_body(self, message: Message) -> None:
        piece, more = message.get("body", b""), message.get("more_body", False)
        if self._key is not None:
            self._body.update(piece)
        if self._held is not None:
            if more:
                self._key = None  # its head cannot wait for a body that comes in pieces
            await self._release()
        elif self._key is not None and not more:
            message = {**message, "body": piece + self._last_line()}
        await self._send(message)
        if not more:
            self._is_complete = True
            # Not later: an application may go on working in the background after its answer.
            self._tell()

    async def _release(self) -> None:
        """Send the head that waited, with a receipt where there is one."""
        held, self._held = self._held, None
        if held is None:
            return
        key = self._signing_key()
        if key is not None:
            held = {**held, "headers": [*held["headers"], (HEADER.encode(), self._receipt(key).encode())]}
        await self._send(held)

    def _last_line(self) -> bytes:
        """The comment that ends a stream; a last line without its end gets one, and that is part of the body."""
        key = self._signing_key()
        if key is None:
            return b""
        end = b"\n" if self._body.ends_within_a_line else b""
        self._body.update(end)
        return end + f"{COMMENT}{self._receipt(key)}\n".encode()

    def _signing_key(self) -> ReceiptKey | None:
        """The key, where the request was read to its end and the worker is still what it was when it came."""
        return self._key if self._tap.is_complete and self._stamped.is_current else None

    def _receipt(self, key: ReceiptKey) -> str:
        exchanged = Exchanged(
            method=self._scope["method"],
            path=self._scope["path"],
            request_sha256=self._tap.sha256,
            status=self._status or 0,
            body_sha256=self._body.hexdigest(),
            body_bytes=self._body.size,
            nonce=usable_nonce(first_value(self._scope["headers"], NONCE)),
        )
        return self._stamped.receipt(key, exchanged)

    def _tell(self) -> None:
        """Write the log line, once."""
        if self._is_told:
            return
        self._is_told = True
        stated = {
            "method": self._scope["method"],
            "path": self._scope["path"],
            "status": self._status,
            "complete": self._is_complete,
        }
        self._write(self._stamped.log_line(**{**self._scope.get(LOG_KEY, {}), **stated}))


def not_ready(standing: Standing, path: str) -> tuple[Headers, bytes]:
    """Headers and body of the answer of a worker that is not `ok`; `path` is that of the request."""
    problem = problem_document(HTTPStatus.SERVICE_UNAVAILABLE, "not_ready", standing.state.reason, path=path)
    body = json.dumps(problem, ensure_ascii=False).encode()
    headers = [
        ("content-type", MEDIA_TYPE),
        ("content-length", str(len(body))),
        ("retry-after", _RETRY_S),
    ]
    return headers, body
