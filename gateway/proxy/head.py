"""What a whole request head says: llhttp reads its lines, this file what they mean for framing (http.md section 3.3).

Whatever two readers could frame differently is refused (RFC 9112 section 6.3).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import httptools

from gateway.proxy.limits import Limits
from gateway.proxy.problem import malformed, method_not_allowed, refuse, websocket_refused
from gateway.proxy.request import Header, Request

_METHODS = {name.encode(): name for name in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")}
_READ = frozenset({b"host", b"content-length", b"transfer-encoding", b"connection", b"expect", b"upgrade"})
_HOST = re.compile(rb"(?:[A-Za-z0-9._~!$&'()*+,;=%-]+|\[[0-9A-Fa-f]*:[0-9A-Fa-f:.]*\])(?::[0-9]{0,5})?")
_CODINGS = frozenset({b"gzip", b"x-gzip", b"deflate", b"compress", b"x-compress"})
_MAX_LENGTH = 2**63
_NONE: Sequence[bytes] = ()


class Head(NamedTuple):
    """A head, understood.

    Attributes:
        request: The request, its body still empty.
        length: Bytes of body to come; None for a chunked one.
        expects_continue: The client waits for `100 Continue` before it sends a body.
    """

    request: Request
    length: int | None
    expects_continue: bool


class _Lines:
    """Collects header lines as llhttp reports them."""

    __slots__ = ("headers",)

    def __init__(self) -> None:
        self.headers: list[Header] = []

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header line."""
        self.headers.append((name.lower(), name, value.strip(b" \t")))


def read_head(head: bytes, first_line: re.Match[bytes], limits: Limits) -> Head:
    """Read a whole head; its first line and line ends were checked before.

    Raises:
        Refused: It cannot be read in exactly one way, or asks for what is not served.
    """
    method, target, _, minor = first_line.groups()
    headers = _parse(head)
    name = _METHODS.get(method)
    if name is None:
        raise method_not_allowed(method.decode("ascii"))
    if len(headers) > limits.max_headers:
        raise refuse(431, "headers_too_large", f"More than {limits.max_headers} header lines.")
    said: dict[bytes, list[bytes]] = {}
    odd = False
    for lower, _, value in headers:
        if lower in _READ:
            said.setdefault(lower, []).append(value)
        elif b"_" in lower:
            odd = True
    version = "1.1" if minor == b"1" else "1.0"
    length, expects_continue = _framing(said, version)
    # A name with an underscore becomes one with a dash in CGI-like servers: dropped before anything looks at it.
    kept = [header for header in headers if b"_" not in header[0]] if odd else headers
    keep_alive = version == "1.1" if b"connection" not in said else _keeps_alive(said[b"connection"], version)
    return Head(Request(name, target, version, kept, keep_alive), length, expects_continue)


def _parse(head: bytes) -> list[Header]:
    lines = _Lines()
    try:
        httptools.HttpRequestParser(lines).feed_data(head)
    except httptools.HttpParserUpgrade:
        # We upgrade nothing: the request is served as plain HTTP/1.1, its body framed as its head says.
        return lines.headers
    except httptools.HttpParserError as error:
        raise malformed(f"The request is not well-formed HTTP: {error}.") from None
    return lines.headers


def _framing(said: dict[bytes, list[bytes]], version: str) -> tuple[int | None, bool]:
    """Give body length (None: chunked) and whether `100 Continue` is awaited."""
    hosts = said.get(b"host", _NONE)
    if len(hosts) > 1 or (version == "1.1" and not hosts) or (hosts and not _is_host(hosts[0])):
        raise malformed("A request has exactly one Host line of the form host[:port].")
    length: int | None = 0
    if b"transfer-encoding" in said:
        _check_coding(said[b"transfer-encoding"], version, has_length=b"content-length" in said)
        length = None
    elif b"content-length" in said:
        length = _parse_length(said[b"content-length"])
    if b"upgrade" in said and any(b"websocket" in value.lower() for value in said[b"upgrade"]):
        raise websocket_refused()
    if version == "1.0" or b"expect" not in said:
        return length, False
    if [value.lower() for value in said[b"expect"]] != [b"100-continue"]:
        raise refuse(417, "bad_request", "The only expectation met here is 100-continue.")
    return length, length != 0


@lru_cache(maxsize=256)
def _is_host(value: bytes) -> bool:
    return _HOST.fullmatch(value) is not None


def _parse_length(values: list[bytes]) -> int:
    if len(values) != 1 or not values[0].isdigit():
        raise malformed("Content-Length must be one line with one number.")
    length = int(values[0].lstrip(b"0")[:20] or b"0")
    if length >= _MAX_LENGTH:
        raise malformed("Content-Length does not fit 63 bits.")
    return length


def _check_coding(values: list[bytes], version: str, *, has_length: bool) -> None:
    if version == "1.0" or has_length or len(values) != 1:
        raise malformed("Transfer-Encoding is one line, not in HTTP/1.0, not beside Content-Length.")
    coding = values[0].lower()
    if coding == b"chunked":
        return
    known = [token.strip(b" \t") for token in coding.split(b",")]
    if known[-1] == b"chunked" and set(known[:-1]) <= _CODINGS:
        raise refuse(501, "bad_request", "The only transfer coding understood here is chunked.")
    raise malformed("Transfer-Encoding must be exactly `chunked`.")


def _keeps_alive(values: list[bytes], version: str) -> bool:
    tokens = {token.strip(b" \t").lower() for value in values for token in value.split(b",")}
    if b"close" in tokens or b"upgrade" in tokens:
        return False
    return version == "1.1" or b"keep-alive" in tokens
