"""The request as a worker gets it: written anew, never passed on as it came (http.md section 4.3)."""

from __future__ import annotations

from typing import Final

from gateway.proxy.asking import Asking
from gateway.proxy.envelope import without_selector
from gateway.proxy.headers import for_worker
from gateway.proxy.request import Request
from gateway.proxy.target import Target

_BODYLESS: Final = frozenset({"GET", "HEAD", "DELETE", "OPTIONS"})
_VIA = b"1.1 dna-gateway"
_FORWARDED = b"%bx-forwarded-for: %b\r\nx-forwarded-proto: %b\r\nvia: %b\r\n"


def request_line(request: Request, target: Target, *, base: bytes, host: bytes) -> bytes:
    """Encode the first line and `Host` of an attempt: the two lines that differ between instances."""
    return b"%b %b%b HTTP/1.1\r\nhost: %b\r\n" % (request.method.encode("ascii"), base, target.forward, host)


def outgoing_body(request: Request, asking: Asking) -> bytes:
    """Give the body as workers get it: the client's, but for a selector in its `model`."""
    return without_selector(request.body, asking.envelope)


def outgoing_lines(request: Request, body: bytes, *, request_id: str, peer: str, is_trusted: bool) -> bytes:
    """Encode the header lines behind the request line and `Host`, ours last, and the empty line.

    The same for every attempt: second attempts are built from the originals.

    Args:
        request: The request.
        body: Its body, as the worker gets it.
        request_id: The client's or ours.
        peer: Address of the client.
        is_trusted: It is a proxy whose forwarding headers are extended in place of replaced.
    """
    fixed, ending = _fixed_lines(request, peer, is_trusted), b"x-request-id: %b\r\n\r\n" % request_id.encode("ascii")
    if not body and request.method in _BODYLESS:
        return fixed + ending
    return b"%bcontent-length: %d\r\n%b" % (fixed, len(body), ending)


def _fixed_lines(request: Request, peer: str, is_trusted: bool) -> bytes:
    """Give the lines that depend on head and peer alone; worked out once for all requests that repeat the head."""
    lines = request.facts.lines_for_worker
    if lines is None:
        forwarding = _extended(request, peer) if is_trusted else _replaced(request, peer)
        lines = request.facts.lines_for_worker = for_worker(request.headers) + forwarding
    return lines


def _replaced(request: Request, peer: str) -> bytes:
    """Say what we know of the client; what it says itself is worth nothing."""
    return _FORWARDED % (_host_line(request.one(b"host")), peer.encode(), b"http", _VIA)


def _extended(request: Request, peer: str) -> bytes:
    """Go on with what a trusted proxy says of its own client: one line for all that were sent."""
    lines = _FORWARDED % (
        _host_line(request.one(b"x-forwarded-host") or request.one(b"host")),
        _chain(request, b"x-forwarded-for", peer.encode()),
        request.one(b"x-forwarded-proto") or b"http",
        _chain(request, b"via", _VIA),
    )
    if request.one(b"forwarded") is None:
        return lines
    node = f'for="[{peer}]"' if ":" in peer else f"for={peer}"  # RFC 7239 section 6
    return lines + b"forwarded: %b\r\n" % _chain(request, b"forwarded", node.encode())


def _host_line(host: bytes | None) -> bytes:
    return b"" if host is None else b"x-forwarded-host: %b\r\n" % host


def _chain(request: Request, name: bytes, ours: bytes) -> bytes:
    return b", ".join([*(said for said in request.all(name) if said), ours])
