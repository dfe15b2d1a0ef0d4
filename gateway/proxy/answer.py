"""Reads one answer of a worker: bytes in, head and body pieces out; no socket, no clock (http.md section 4.2).

What an answer comes to never depends on how its bytes were split into reads.
"""

from __future__ import annotations

import re

from gateway.proxy.answer_head import AnswerHead, Malformed, read_answer_head, read_line, read_status_line
from gateway.proxy.chunks import ChunkDecoder
from gateway.proxy.limits import Limits
from gateway.proxy.problem import Refused
from gateway.proxy.said import KEEP_ALIVE

_KEEP_ALIVE_TIMEOUT = re.compile(rb"(?:^|[,\s])timeout=(\d{1,9})(?:$|[,\s])", re.IGNORECASE)


class AnswerReader:
    """Reads one answer.

    Attributes:
        head: The final head, once it is complete and sound; interim ones are passed over.
        complete: The answer ended by its own framing.
        surplus: Bytes followed its end.
        broken: Why the answer cannot be trusted any further; "" while it can.
    """

    __slots__ = (
        "_body", "_checked", "_chunks", "_head_only", "_left", "_limits", "_open", "broken", "complete", "head",
        "surplus",
    )  # fmt: skip

    def __init__(self, limits: Limits, *, head_only: bool) -> None:
        self._limits = limits
        self._head_only = head_only
        self._open = b""
        """What came of a head that is not whole."""
        self._checked = 0
        """So much of it are whole lines, and sound."""
        self._chunks: ChunkDecoder | None = None
        self._left = 0
        """Bytes of a body of known length that are still to come."""
        self._body = b""
        self.head: AnswerHead | None = None
        self.complete = self.surplus = False
        self.broken = ""

    @property
    def is_reusable(self) -> bool:
        """The connection is where both sides agree that the answer ended, and the worker keeps it."""
        return self.complete and self.head is not None and self.head.keeps and not self.surplus

    def feed(self, data: bytes) -> None:
        """Take one read."""
        if self.broken or not data:
            return
        if self.complete:
            self.surplus = True
            return
        try:
            rest = self._read_head(data) if self.head is None else data
            if rest:
                self._read_body(rest)
        except Malformed as error:
            self.broken = str(error)
        except Refused as refused:
            self.broken = refused.problem.detail

    def take_body(self) -> bytes:
        """Give the body bytes that were read since the last call, transfer coding removed."""
        body, self._body = self._body, b""
        return body

    def kept_s(self) -> float | None:
        """Give the seconds for which the worker says it keeps the connection; None where it does not say."""
        value = self.head.said[KEEP_ALIVE] if self.head is not None else None
        timeout = _KEEP_ALIVE_TIMEOUT.search(value) if value is not None else None
        return float(timeout[1]) if timeout is not None else None

    def _read_head(self, data: bytes) -> bytes:
        """Take bytes of a head; give those behind the final one once that is whole."""
        if self._open:
            data = self._open + data
        most = self._limits.max_worker_head
        while True:
            end = data.find(b"\r\n\r\n", max(self._checked - 2, 0))
            if (end + 4 if end >= 0 else len(data)) > most:
                raise Malformed(f"the answer's head is larger than {most} bytes")
            if end < 0:
                self._check_open(data)
                self._open = data
                return b""
            head = read_answer_head(data[: end + 2], self._limits, head_only=self._head_only)
            data, self._open, self._checked = data[end + 4 :], b"", 0
            if head is not None:
                self._begin_body(head)
                return data

    def _check_open(self, data: bytes) -> None:
        """Refuse a head that is not whole as soon as one of its lines is wrong."""
        *lines, _ = data[self._checked :].split(b"\n")
        for line in lines:
            if self._checked:
                read_line(line)
            else:
                read_status_line(line)
            self._checked += len(line) + 1

    def _begin_body(self, head: AnswerHead) -> None:
        self.head = head
        if not head.has_body:
            self.complete = True
        elif head.length is None:
            self._chunks = ChunkDecoder(self._limits, max_body=None)
        else:
            self._left = head.length
            self.complete = not head.length

    def _read_body(self, data: bytes) -> None:
        if self.complete:
            self.surplus = True
        elif self._chunks is not None:
            self._read_chunks(self._chunks, data)
        else:
            left = self._left
            self._add(data if len(data) <= left else data[:left])
            self._left = max(left - len(data), 0)
            self.complete = not self._left
            self.surplus = len(data) > left

    def _read_chunks(self, chunks: ChunkDecoder, data: bytes) -> None:
        whole = chunks.feed_whole(data)
        if whole:
            self._add(whole)
            return
        try:
            rest = chunks.feed(data)
        finally:
            self._add(chunks.take())
        self.complete = rest is not None
        self.surplus = bool(rest)

    def _add(self, body: bytes) -> None:
        self._body = self._body + body if self._body else body
