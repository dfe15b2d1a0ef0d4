"""Reads one answer of a worker, strictly: bytes in, head and body pieces out; no socket, no clock (http.md 4.2).

What cannot be framed in exactly one way is malformed, never guessed. Each answer has a reader, and so a parser, of its
own: nothing of an earlier message can be left in it.
"""

from __future__ import annotations

import re
from typing import ClassVar

import httptools

from gateway.proxy.limits import Limits
from gateway.proxy.request import Header

_NO_BODY = frozenset({204, 304})
_FRAMING = frozenset({b"content-length", b"transfer-encoding"})
_MAX_LENGTH_DIGITS = 18
_PLAIN_START = b"HTTP/1.1 "
_BLANKS = (b" ", b"\t")
_KEEP_ALIVE_TIMEOUT = re.compile(rb"(?:^|[,\s])timeout=(\d{1,9})(?:$|[,\s])", re.IGNORECASE)


class AnswerHead:
    """The final head of a worker's answer.

    Attributes:
        status: HTTP status.
        headers: Its lines in order.
        said: Value by lower-case name; of a name sent twice the last one.
        length: Declared length of the body; None for a chunked one.
        has_body: False for HEAD, 204 and 304.
    """

    __slots__ = ("has_body", "headers", "length", "said", "status")

    def __init__(
        self, status: int, headers: list[Header], said: dict[bytes, bytes], length: int | None, has_body: bool
    ) -> None:
        self.status = status
        self.headers = headers
        self.said = said
        self.length = length
        self.has_body = has_body

    @property
    def repeats_names(self) -> bool:
        """A name was sent more than once."""
        return len(self.said) != len(self.headers)


class _Malformed(Exception):
    """Raised inside parser callbacks: this answer cannot be trusted."""


class AnswerReader:
    """Reads one answer.

    Attributes:
        head: The final head, once it is complete and sound; interim ones are passed over.
        complete: The answer ended by its own framing.
        surplus: Bytes followed its end.
        broken: Why the answer cannot be trusted any further; "" while it can.
        keep: The worker keeps the connection.
    """

    __slots__ = (
        "_head_bytes", "_head_only", "_headers", "_is_begun", "_is_plain", "_limits", "_parser", "_pieces", "broken",
        "complete", "head", "keep", "surplus",
    )  # fmt: skip

    # Said to be missing here, httptools need not look for them in vain at every answer.
    on_status: ClassVar[None] = None
    on_chunk_header: ClassVar[None] = None
    on_chunk_complete: ClassVar[None] = None

    def __init__(self, limits: Limits, *, head_only: bool) -> None:
        self._limits = limits
        self._head_only = head_only
        self._headers: list[Header] = []
        self._pieces: list[bytes] = []
        self._head_bytes = 0
        self.head: AnswerHead | None = None
        self.complete = self.surplus = self.keep = False
        self.broken = ""
        self._is_begun = self._is_plain = False
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)

    @property
    def is_reusable(self) -> bool:
        """The connection is where both sides agree that the answer ended, and the worker keeps it."""
        return self.complete and self.keep and not self.surplus

    def feed(self, data: bytes) -> None:
        """Take one read."""
        parser = self._parser
        if parser is None or self.broken:
            return
        if self.head is None:
            if not self._is_begun:
                self._is_begun, self._is_plain = True, data.startswith(_PLAIN_START)
            self._head_bytes += len(data)
        try:
            parser.feed_data(data)
        except httptools.HttpParserCallbackError as error:
            if not isinstance(error.__context__, _Malformed):
                raise
            self.broken = str(error.__context__)
        except httptools.HttpParserError as error:
            if self.complete:
                self.surplus = True
            else:
                self.broken = f"the answer is not well-formed HTTP: {error}"
        if self.head is None and not self.broken and self._head_bytes > self._limits.max_worker_head:
            self.broken = self._head_too_large()

    def take_body(self) -> bytes:
        """Give the body bytes that were read since the last call, transfer coding removed."""
        pieces = self._pieces
        if len(pieces) == 1:
            body = pieces[0]
        elif pieces:
            body = b"".join(pieces)
        else:
            return b""
        self._pieces = []
        return body

    def kept_s(self) -> float | None:
        """Give the seconds for which the worker says it keeps the connection; None where it does not say."""
        value = self.head.said.get(b"keep-alive") if self.head is not None else None
        timeout = _KEEP_ALIVE_TIMEOUT.search(value) if value is not None else None
        return float(timeout[1]) if timeout is not None else None

    def close(self) -> None:
        """Let go of the parser, which refers back to this reader."""
        self._parser = None

    # parser callbacks ---------------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """A message after the complete one is bytes nobody asked for."""
        if self.complete:
            self.surplus = True

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header line of the head; drop trailers."""
        if self.head is None:
            # llhttp passes over blanks before a value, not over those behind it.
            self._headers.append((name.lower(), name, value.rstrip(b" \t") if value[-1:] in _BLANKS else value))

    def on_headers_complete(self) -> None:
        """Check the head's framing and keep it; interim answers are passed over."""
        parser, headers = self._parser, self._headers
        if self.head is not None or parser is None:
            return
        status = parser.get_status_code()
        self._check_size(headers)
        if 100 <= status < 200 and status != 101:
            self._headers = []
            self._head_bytes = 0
            self._is_plain = False
            return
        if not 200 <= status <= 599:  # 101 among them: nobody asked for another protocol
            raise _Malformed(f"status {status} is no final answer")
        # Asking the parser means making a text; most answers begin so and need not.
        version = "1.1" if self._is_plain else parser.get_http_version()
        if version not in ("1.0", "1.1"):
            raise _Malformed(f"HTTP/{version} is not spoken here")
        has_body = not self._head_only and status not in _NO_BODY
        said = {name: value for name, _, value in headers}
        if len(said) != len(headers) and sum(name in _FRAMING for name, _, _ in headers) > 1:
            raise _Malformed("the answer's framing is stated more than once")
        length = _body_length(said, version, has_body=has_body)
        self.keep = parser.should_keep_alive()
        self.head = AnswerHead(status, headers, said, length, has_body)
        # llhttp cannot know that no body follows an answer to HEAD, whatever its length says.
        self.complete = self._head_only

    def on_body(self, data: bytes) -> None:
        """Keep a piece of the body."""
        if self.complete:
            self.surplus = True
        elif self.head is None:
            raise _Malformed("an interim answer has a body")
        else:
            self._pieces.append(data)

    def on_message_complete(self) -> None:
        """The answer ended by its own framing, unless it was an interim one."""
        self.complete = self.head is not None

    # checks -------------------------------------------------------------------------------------------------------

    def _check_size(self, headers: list[Header]) -> None:
        if len(headers) > self._limits.max_worker_headers:
            raise _Malformed(f"the answer has more than {self._limits.max_worker_headers} header lines")
        # Lines are only added up where the bytes of this head and of what came behind it could be too many.
        if self._head_bytes > self._limits.max_worker_head:
            size = sum(len(name) + len(value) + 4 for _, name, value in headers)
            if size > self._limits.max_worker_head:
                raise _Malformed(self._head_too_large())

    def _head_too_large(self) -> str:
        return f"the answer's head is larger than {self._limits.max_worker_head} bytes"


def _body_length(said: dict[bytes, bytes], version: str, *, has_body: bool) -> int | None:
    """Give the declared length, None for chunks; refuse what two readers could frame differently."""
    length, coding = said.get(b"content-length"), said.get(b"transfer-encoding")
    if coding is not None:
        if length is not None:
            raise _Malformed("the answer's framing is stated more than once")
        if coding.lower() != b"chunked" or version == "1.0":
            raise _Malformed("the answer's transfer coding is not exactly `chunked`")
        return None
    if length is not None:
        if not length.isdigit() or len(length) > _MAX_LENGTH_DIGITS:
            raise _Malformed("the answer's length is not a number")
        return int(length)
    if has_body:
        raise _Malformed("the answer has neither a length nor chunks: its end cannot be told from a cut")
    return 0
