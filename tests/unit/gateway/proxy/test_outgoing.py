"""The request as a worker gets it: written anew, ours last."""

from __future__ import annotations

import pytest

from gateway.proxy.asking import Asking
from gateway.proxy.envelope import EMPTY, read_envelope
from gateway.proxy.outgoing import outgoing_body, outgoing_lines, request_line
from gateway.proxy.request import Request
from gateway.proxy.target import parse_target
from gateway.routing.asking import RouteRequest


def message(request: Request, *, peer: str = "10.0.0.9", is_trusted: bool = False) -> bytes:
    envelope = read_envelope(request.body) if request.body.startswith(b"{") else EMPTY
    body = outgoing_body(request, Asking(RouteRequest(), envelope, stream=False))
    return outgoing_lines(request, body, request_id="r-1", peer=peer, is_trusted=is_trusted) + body


def request(*lines: bytes, method: str = "POST", body: bytes = b"", version: str = "1.1") -> Request:
    pairs = [line.split(b": ", 1) for line in (b"Host: gw:8080", *lines)]
    return Request(method, b"/x", version, [(name.lower(), name, value) for name, value in pairs], True, body)


def test_the_whole_message() -> None:
    sent = request(
        b"Accept: */*", b"Connection: close", b"X-Forwarded-For: 6.6.6.6", b"Content-Length: 003", body=b"abc"
    )

    assert message(sent) == (
        b"Accept: */*\r\n"
        b"x-forwarded-host: gw:8080\r\n"
        b"x-forwarded-for: 10.0.0.9\r\n"
        b"x-forwarded-proto: http\r\n"
        b"via: 1.1 dna-gateway\r\n"
        b"content-length: 3\r\n"
        b"x-request-id: r-1\r\n"
        b"\r\n"
        b"abc"
    )


@pytest.mark.parametrize(
    ("method", "body", "length"),
    [
        pytest.param("POST", b"", b"content-length: 0", id="post-without-a-body"),
        pytest.param("PUT", b"", b"content-length: 0", id="put-without-a-body"),
        pytest.param("GET", b"", None, id="get-without-a-body"),
        pytest.param("DELETE", b"", None, id="delete-without-a-body"),
        pytest.param("GET", b"x", b"content-length: 1", id="get-with-a-body"),
    ],
)
def test_the_length_is_ours(method: str, body: bytes, length: bytes | None) -> None:
    lines = message(request(method=method, body=body)).partition(b"\r\n\r\n")[0].split(b"\r\n")

    assert [line for line in lines if line.startswith(b"content-length")] == ([] if length is None else [length])


def test_a_selector_in_the_body_is_cut_out_and_the_length_follows() -> None:
    written = message(request(body=b'{"model": "m@^2.4", "x": [1]}'))

    assert written.endswith(b'\r\n\r\n{"model": "m", "x": [1]}')
    assert b"content-length: 24\r\n" in written


def test_a_client_cannot_use_connection_to_remove_what_we_add() -> None:
    written = message(request(b"Connection: x-forwarded-for, x-request-id, via, content-length, host", body=b"a"))

    for name in (b"x-forwarded-for: 10.0.0.9", b"x-request-id: r-1", b"via: 1.1 dna-gateway", b"content-length: 1"):
        assert written.count(name) == 1


def test_what_a_trusted_proxy_says_of_its_client_is_extended() -> None:
    said = (b"X-Forwarded-For: 6.6.6.6", b"X-Forwarded-For: 7.7.7.7", b"X-Forwarded-Proto: https")

    more = (b"X-Forwarded-Host: api.example", b"Forwarded: for=6.6.6.6", b"Via: 1.0 edge", b"Via: ")
    written = message(request(*said, *more), is_trusted=True)

    assert b"x-forwarded-for: 6.6.6.6, 7.7.7.7, 10.0.0.9\r\n" in written
    assert b"x-forwarded-proto: https\r\n" in written
    assert b"x-forwarded-host: api.example\r\n" in written
    assert b"forwarded: for=6.6.6.6, for=10.0.0.9\r\n" in written
    assert b"via: 1.0 edge, 1.1 dna-gateway\r\n" in written
    assert written.lower().count(b"forwarded") == 4


def test_an_address_of_version_6_is_quoted_as_rfc_7239_asks() -> None:
    written = message(request(b"Forwarded: for=_x"), peer="2001:db8::1", is_trusted=True)

    assert b'forwarded: for=_x, for="[2001:db8::1]"\r\n' in written


def test_a_trusted_proxy_that_says_nothing_is_the_client() -> None:
    written = message(request(), is_trusted=True)

    assert b"x-forwarded-for: 10.0.0.9\r\nx-forwarded-proto: http\r\n" in written
    assert b"x-forwarded-host: gw:8080\r\n" in written


def test_without_a_host_line_none_is_forwarded() -> None:
    sent = request(version="1.0")
    sent.headers = []

    assert b"x-forwarded-host" not in message(sent)


@pytest.mark.parametrize(
    ("base", "target", "line"),
    [
        (b"", b"/v2.4.0/generate?x", b"POST /generate?x HTTP/1.1\r\nhost: i-1:8000\r\n"),
        (b"/models/a", b"/generate", b"POST /models/a/generate HTTP/1.1\r\nhost: i-1:8000\r\n"),
        (b"", b"/a%2Fb/%ff", b"POST /a%2Fb/%ff HTTP/1.1\r\nhost: i-1:8000\r\n"),
    ],
)
def test_the_two_lines_that_differ_between_instances(base: bytes, target: bytes, line: bytes) -> None:
    assert request_line(request(), parse_target(target, b"a"), base=base, host=b"i-1:8000") == line
