"""Cuts one request head out of a client's bytes: its first line, its line ends and its size are checked as they come.

Checks run in the order of the bytes, so that a refusal never depends on how the bytes were split into reads. A head
that is still open is refused as soon as no further byte can save it.
"""

from __future__ import annotations

import re

from gateway.proxy.limits import Limits
from gateway.proxy.problem import Refused, malformed, method_not_allowed, refuse

_FIRST_LINE = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]++) ([!-~]++) HTTP/([0-9])\.([0-9])\r\n")
_MAX_BLANK_LINES = 16
_LINE_BYTES_BESIDE_TARGET = 32
"""Room in the first line for method, version and blanks."""


class HeadCutter:
    """Collects bytes until a head is whole; `first_line` then holds method, target and both digits of the version."""

    __slots__ = ("_blank_lines", "_checked", "_limits", "_longest_line", "buffer", "first_line")

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._longest_line = limits.max_target + _LINE_BYTES_BESIDE_TARGET
        self.reset()

    def reset(self) -> None:
        """Begin with the next head."""
        self.buffer = b""
        self.first_line: re.Match[bytes] | None = None
        self._checked = self._blank_lines = 0

    def cut(self, data: bytes) -> int:
        """Take bytes; give the length of the head at the start of `buffer`, 0 while it is open.

        Raises:
            Refused: First line, line ends or size break a rule.
        """
        self.buffer = data = self.buffer + data if self.buffer else data
        if self.first_line is None:
            if data[:2] == b"\r\n":
                self.buffer = data = self._without_blank_lines(data)
            self.first_line = first = _FIRST_LINE.match(data, 0, self._longest_line + 2)
            if first is None:
                self._check_open_line(data)
                return 0
            self._check_first_line(first)
            self._checked = first.end()
        end = data.find(b"\r\n\r\n", max(self._checked - 3, 0)) + 4
        size, most = end if end >= 4 else len(data), self._limits.max_head
        self._check_line_ends(data, min(size, most))
        if size > most:
            raise refuse(431, "headers_too_large", f"The head is larger than {most} bytes.")
        return end if end >= 4 else 0

    def _without_blank_lines(self, data: bytes) -> bytes:
        """Skip empty lines before a request line (RFC 9112 section 2.2), only whole CRLFs and not many."""
        skipped = 0
        while self._blank_lines < _MAX_BLANK_LINES and data.startswith(b"\r\n", skipped):
            skipped += 2
            self._blank_lines += 1
        return data[skipped:]

    def _check_first_line(self, first: re.Match[bytes]) -> None:
        method, target, major, minor = first.groups()
        if len(target) > self._limits.max_target:
            raise self._target_too_long()
        if method == b"CONNECT":
            raise method_not_allowed("CONNECT")
        if major != b"1" or minor not in (b"0", b"1"):
            raise refuse(505, "bad_request", "Only HTTP/1.0 and HTTP/1.1 are spoken here.")

    def _check_open_line(self, data: bytes) -> None:
        """Accept a first line that is not there yet; refuse one that is there and wrong, or too long."""
        if data.find(b"\r\n", 0, self._longest_line + 2) >= 0:
            raise malformed("The first line is not `METHOD target HTTP/1.1`.")
        self._check_line_ends(data, min(len(data), self._longest_line + 2))
        self._checked = 0
        if len(data) >= self._longest_line + 2:
            raise self._target_too_long()

    def _check_line_ends(self, data: bytes, end: int) -> None:
        """Refuse CR and LF that are no CRLF; a CR that ends the bytes at hand may yet become one."""
        start = self._checked
        if end > start and data[end - 1] == 0x0D:
            end -= 1
        pairs = data.count(b"\r\n", start, end)
        if data.count(b"\n", start, end) != pairs or data.count(b"\r", start, end) != pairs:
            raise malformed("A line of the head does not end in CRLF.")
        self._checked = end

    def _target_too_long(self) -> Refused:
        return refuse(414, "target_too_long", f"The target is longer than {self._limits.max_target} bytes.")
