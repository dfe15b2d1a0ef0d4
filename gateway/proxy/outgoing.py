"""The request as a worker gets it: written anew, never passed on as it came (http.md section 4.3)."""

from __future__ import annotations

from gateway.proxy.asking import Asking
from gateway.proxy.envelope import without_selector
from gateway.proxy.headers import for_worker
from gateway.proxy.request import Request
from gateway.proxy.target import Target
from gateway.routing.snapshot import Instance

_BODYLESS = frozenset({"GET", "HEAD", "DELETE", "OPTIONS"})
_LINES = b"%b%bx-forwarded-for: %b\r\nx-forwarded-proto: http\r\nvia: 1.1 dna-gateway\r\nx-request-id: %b\r\n\r\n"


def request_line(request: Request, target: Target, instance: Instance) -> bytes:
    """Encode the first line and `Host` of an attempt: the two lines that differ between instances."""
    method, base = request.method.encode("ascii"), instance.base_path.encode("latin-1")
    return b"%b %b%b HTTP/1.1\r\nhost: %b\r\n" % (method, base, target.forward, instance.authority.encode("latin-1"))


def outgoing_body(request: Request, asking: Asking) -> bytes:
    """Give the body as workers get it: the client's, but for a selector in its `model`."""
    return without_selector(request.body, asking.envelope)


def outgoing_lines(request: Request, body: bytes, *, request_id: str, peer: str) -> bytes:
    """Encode the header lines behind the request line and `Host`, ours last, and the empty line.

    The same for every attempt: second attempts are built from the originals.
    """
    length = b"" if not body and request.method in _BODYLESS else b"content-length: %d\r\n" % len(body)
    return _LINES % (_fixed_lines(request), length, peer.encode("latin-1"), request_id.encode("ascii"))


def _fixed_lines(request: Request) -> bytes:
    """Give the lines that depend on the head alone; worked out once for all requests that repeat it."""
    lines = request.facts.lines_for_worker
    if lines is None:
        host = request.one(b"host")
        forwarded_host = b"" if host is None else b"x-forwarded-host: %b\r\n" % host
        lines = request.facts.lines_for_worker = for_worker(request.headers) + forwarded_host
    return lines
