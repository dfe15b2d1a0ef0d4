"""Takes the chunked coding off a body, strictly (RFC 9112 section 7.1).

llhttp tells neither where a chunked message ends inside a read nor how much was spent on extensions, so this is our
own: it stops at the exact byte, and what is no body is bounded. It accepts less than llhttp, never more.
"""

from __future__ import annotations

import re
from typing import Final

from gateway.proxy.limits import KIB, Limits
from gateway.proxy.problem import malformed, refuse

_SIZE_LINE = re.compile(
    rb"0*([0-9A-Fa-f]{1,16})"
    rb"(?:;[!#$%&'*+\-.^_`|~0-9A-Za-z]++"
    rb"""(?:=(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]++|"(?:[\t !#-\[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*+"))?)*+"""
    rb"\r\n"
)
_OPEN_SIZE_LINE = re.compile(rb"(?:[0-9A-Fa-f]++(?:;[\t -~\x80-\xff]*+)?\r?)?")
_TRAILER = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]++):[\t -~\x80-\xff]*+\r\n")
_OPEN_TRAILER = re.compile(rb"(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]++(?::[\t -~\x80-\xff]*+)?)?\r?")
_GOVERNING = frozenset({b"content-length", b"transfer-encoding", b"connection", b"upgrade"})
"""Trailers that other readers obey too late; RFC 9110 section 6.5.1 forbids them."""
_SIZE_DIGITS = 16
_SIZE_LINES: Final = [b"%x\r\n" % size for size in range(4 * KIB)]
"""By size: an event of a stream is seldom larger."""


def framed(data: bytes) -> bytes:
    """Write bytes as one chunk; nothing for nothing, because an empty chunk would end the message."""
    if not data:
        return b""
    size = len(data)
    line = _SIZE_LINES[size] if size < len(_SIZE_LINES) else b"%x\r\n" % size
    return b"%b%b\r\n" % (line, data)


def unframed(read: bytes) -> bytes:
    """Give what is in a read that is exactly one chunk, framed as `framed` does it; nothing where it is not.

    So comes one event of a stream, and its two ends tell it: a read so long can be the whole chunk of one size only.
    """
    line_size = 3 if len(read) < 22 else 4 if len(read) < 263 else 5
    size = len(read) - line_size - 2
    if not 0 < size < len(_SIZE_LINES):
        return b""
    line = _SIZE_LINES[size]
    if len(line) != line_size or not read.startswith(line) or not read.endswith(b"\r\n"):
        return b""
    return read[line_size:-2]


class ChunkDecoder:
    """Decodes one body into `body`; `trailers` counts the lines that were dropped behind it.

    Args:
        limits: Bounds of what is no body.
        max_body: Largest body of a request. None for an answer, which may go on for hours: its body has no bound, and
            extensions are bounded by the chunk, not by the message.
    """

    __slots__ = (
        "_in_trailers", "_left", "_limits", "_max_body", "_open", "_spent", "_trailer_bytes", "body", "trailers",
    )  # fmt: skip

    def __init__(self, limits: Limits, *, max_body: int | None) -> None:
        self._limits = limits
        self._max_body = max_body
        self._open = b""
        self._left = 0
        """Bytes of the current chunk still to come, its CRLF included; 0 between chunks."""
        self._in_trailers = False
        self._spent = 0
        """Bytes that went to extensions and leading zeros, of the message or of the chunk."""
        self._trailer_bytes = 0
        self.body = bytearray()
        self.trailers = 0

    def feed(self, data: bytes) -> bytes | None:
        """Take bytes; give what stands behind the end of the body, None while it is open.

        Raises:
            Refused: The coding is broken, or a limit is.
        """
        if self._open:
            data, self._open = self._open + data, b""
        at = 0
        while not self._in_trailers:
            if self._left:
                at = self._read_data(data, at)
                if self._left or at == len(data):
                    return None
            line = _SIZE_LINE.match(data, at)
            if line is None:
                self._keep_open_size(data[at:])
                return None
            at = line.end()
            self._begin_chunk(line)
        return self._read_trailers(data, at)

    def feed_whole(self, data: bytes) -> bytes:
        """Take bytes that are exactly one plain chunk and give what is in it; where they are not, take nothing."""
        if self._left or self._open or self._in_trailers or self._max_body is not None:
            return b""
        return unframed(data)

    def _begin_chunk(self, line: re.Match[bytes]) -> None:
        digits = line[1]
        if self._max_body is None:
            self._spent = 0
        self._spend(line.end() - line.start() - 2 - len(digits))
        size = int(digits, 16)
        if size == 0:
            self._in_trailers = True
            return
        self._check_size(len(self.body) + size)
        self._left = size + 2

    def take(self) -> bytes:
        """Give what of the body was read since the last call, and let go of it."""
        body = bytes(self.body)
        self.body.clear()
        return body

    def limit(self, most: int) -> None:
        """Take no more than so many bytes from now on.

        Raises:
            Refused: More has come, or is announced, already.
        """
        self._max_body = most if self._max_body is None else min(self._max_body, most)
        self._check_size(len(self.body) + max(self._left - 2, 0))

    def _check_size(self, size: int) -> None:
        if self._max_body is not None and size > self._max_body:
            raise refuse(413, "payload_too_large", f"The body is larger than {self._max_body} bytes.")

    def _spend(self, extra: int) -> None:
        self._spent += extra
        if self._spent > self._limits.max_chunk_extension:
            raise malformed(f"Chunk extensions take more than {self._limits.max_chunk_extension} bytes.")

    def _keep_open_size(self, rest: bytes) -> None:
        if _OPEN_SIZE_LINE.fullmatch(rest) is None:
            raise malformed("A chunk size is not hexadecimal digits and CRLF.")
        if self._max_body is None:
            self._spent = 0
        # What the line costs at the least once it is complete.
        if self._spent + len(rest) - 1 - _SIZE_DIGITS > self._limits.max_chunk_extension:
            self._spend(len(rest) - 1 - _SIZE_DIGITS)
        self._open = rest

    def _read_data(self, data: bytes, at: int) -> int:
        """Take bytes of the current chunk and of its CRLF; give the place behind them."""
        wanted = self._left - 2
        if wanted > 0:
            piece = data[at : at + wanted]
            self.body += piece
            self._left -= len(piece)
            at += len(piece)
            if self._left > 2:
                return at
        end = data[at : at + self._left]
        if not b"\r\n"[2 - self._left :].startswith(end):
            raise malformed("Chunk data does not end in CRLF.")
        self._left -= len(end)
        return at + len(end)

    def _read_trailers(self, data: bytes, at: int) -> bytes | None:
        """Drop trailers, counted and bounded, up to the empty line that ends the message."""
        most = self._limits.max_trailer
        while not data.startswith(b"\r\n", at):
            line = _TRAILER.match(data, at)
            if line is None:
                rest = data[at:]
                if _OPEN_TRAILER.fullmatch(rest) is None:
                    raise malformed("A trailer is no header line.")
                self._open = rest
                if rest != b"\r" and self._trailer_bytes + len(rest) > most:
                    raise malformed(f"Trailers take more than {most} bytes.")
                return None
            if line[1].lower() in _GOVERNING:
                raise malformed("A trailer speaks of the framing or the connection of the message it ends.")
            self._trailer_bytes += line.end() - at
            if self._trailer_bytes > most:
                raise malformed(f"Trailers take more than {most} bytes.")
            self.trailers += 1
            at = line.end()
        return data[at + 2 :]
