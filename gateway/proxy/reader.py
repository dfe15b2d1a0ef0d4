"""Cuts a client's byte stream into requests. Bytes in, requests or refusals out; no socket, no clock.

One message at a time: no byte of a second request is looked at while the first is unanswered, and no byte of it ever
enters the first one's body. llhttp reads the lines of a head (`head.py`); what it lets through without a trace is
checked before it is fed (`head_cutter.py`), and bodies are framed here, by length or by `chunks.py`. So an `Upgrade`,
where llhttp gives a message up before its body, changes nothing (http.md sections 3.1 and 3.5).
"""

from __future__ import annotations

from gateway.proxy.chunks import ChunkDecoder
from gateway.proxy.head import Head, read_head
from gateway.proxy.head_cutter import HeadCutter
from gateway.proxy.limits import Limits
from gateway.proxy.problem import refuse
from gateway.proxy.request import Request

_NOTHING_YET = b"\x00"
"""No head begins so."""


class RequestReader:
    """Reads one connection's requests, one at a time.

    `feed` takes bytes and gives a request once it is complete; bytes behind it wait in `rest`. Raises `Refused`; after
    a refusal with `close` the reader must not be fed again. `head` is the open request while its body is missing.
    `max_body` may be changed between two requests.
    """

    __slots__ = (
        "_body", "_chunks", "_cutter", "_declared", "_last", "_last_raw", "_limits", "_remaining", "expects_continue",
        "head", "max_body", "rest", "trailers",
    )  # fmt: skip

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._cutter = HeadCutter(limits)
        self._last: Head | None = None
        self._last_raw = _NOTHING_YET
        self.max_body = limits.max_body
        self.rest = b""
        self.trailers = 0
        self._reset()

    def _reset(self) -> None:
        self.head: Request | None = None
        self.expects_continue = False
        self._chunks: ChunkDecoder | None = None
        self._body: bytearray | None = None
        self._remaining = self._declared = 0

    @property
    def idle(self) -> bool:
        """Between two requests, no byte of the next one read."""
        return self.head is None and not self._cutter.buffer

    @property
    def in_head(self) -> bool:
        """Some bytes of a head have come, not all."""
        return self.head is None and bool(self._cutter.buffer)

    @property
    def in_body(self) -> bool:
        """A head is complete, its body is not."""
        return self.head is not None

    @property
    def begun(self) -> tuple[str, bytes]:
        """Method and target of the open request, as far as they were read: what a refusal can say of it."""
        if self.head is not None:
            return self.head.method, self.head.target
        line = self._cutter.first_line
        return (line[1].decode("ascii"), line[2]) if line is not None else ("-", b"")

    @property
    def is_chunked(self) -> bool:
        """The open request's body comes in chunks."""
        return self._chunks is not None

    def limit_body(self, most: int) -> None:
        """Bound the body of the open request further, now that its version is known.

        Raises:
            Refused: More of it has come already.
        """
        if self._chunks is not None:
            self._chunks.limit(most)

    @property
    def declared(self) -> int:
        """Length of the open request's body as its head states it; 0 where it comes in chunks."""
        return self._declared

    @property
    def body_bytes(self) -> int:
        """Body bytes of the open request held so far."""
        body = self._body if self._chunks is None else self._chunks.body
        return len(body) if body is not None else 0

    def feed(self, data: bytes) -> Request | None:
        """Take bytes; give the request they complete, if they do.

        Raises:
            Refused: The bytes cannot be read in exactly one way, or break a limit.
        """
        if self.head is None:
            data = self._again(data) if data.startswith(self._last_raw) else self._read_head(data)
            if not self.in_body:
                return None
        return self._read_length(data) if self._chunks is None else self._read_chunks(self._chunks, data)

    def _again(self, data: bytes) -> bytes:
        """Take a head that repeats the last one byte for byte, so that all of it is known; give the bytes behind it."""
        if self._last is None or self._cutter.buffer:
            return self._read_head(data)
        self._start(self._last)
        return data[len(self._last_raw) :]

    def _read_head(self, data: bytes) -> bytes:
        """Take bytes of a head; once it is whole, understand it and give the bytes behind it."""
        size = self._cutter.cut(data)
        if not size:
            return b""
        cutter = self._cutter
        data, first_line = cutter.buffer, cutter.first_line
        assert first_line is not None, "a whole head has a first line"
        raw = data[:size]
        head = read_head(raw, first_line, self._limits)
        if head.length is not None and head.length > self.max_body:
            raise refuse(413, "payload_too_large", f"The body is larger than {self.max_body} bytes.")
        cutter.reset()
        self._last, self._last_raw = head, raw
        self._start(head)
        return data[size:]

    def _start(self, head: Head) -> None:
        """Begin a request with this head; its body comes next."""
        if head.length is None:
            self._chunks = ChunkDecoder(self._limits, max_body=self.max_body)
        else:
            self._remaining = self._declared = head.length
        first = head.request
        self.head = Request(
            first.method, first.target, first.version, first.headers, first.keep_alive, b"", first.facts
        )
        self.expects_continue = head.expects_continue

    def _read_length(self, data: bytes) -> Request | None:
        missing = self._remaining - len(data)
        if missing <= 0 and self._body is None:
            return self._finish(data[: self._remaining], data[self._remaining :])
        if self._body is None:
            self._body = bytearray()
        self._body += data[: self._remaining]
        if missing > 0:
            self._remaining = missing
            return None
        return self._finish(bytes(self._body), data[self._remaining :])

    def _read_chunks(self, chunks: ChunkDecoder, data: bytes) -> Request | None:
        rest = chunks.feed(data)
        if rest is None:
            return None
        self.trailers += chunks.trailers
        return self._finish(bytes(chunks.body), rest)

    def _finish(self, body: bytes, rest: bytes) -> Request:
        request = self.head
        assert request is not None, "a message ends after its head"
        request.body = body
        self.rest = rest
        self._reset()
        return request
