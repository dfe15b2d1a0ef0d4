"""Header lines, both ways: order and bytes kept, what is ours or hop-by-hop dropped."""

from __future__ import annotations

import pytest

from gateway.proxy.headers import STAMPS, AnswerLine, for_client, for_worker, named_by_connection
from gateway.proxy.request import Header


def headers(*lines: bytes) -> list[Header]:
    pairs = [line.split(b": ", 1) for line in lines]
    return [(name.lower(), name, value) for name, value in pairs]


def seen_by_client(sent: list[Header]) -> bytes:
    return for_client([AnswerLine(raw, value) for _, raw, value in sent], connection(sent))


def connection(sent: list[Header]) -> frozenset[bytes]:
    return named_by_connection((name, value) for name, _, value in sent)


STAMP_NAMES = sorted(name.decode() for name in STAMPS)


def test_what_is_the_clients_goes_on_in_order_byte_for_byte() -> None:
    sent = headers(b"Accept: */*", b"X-A: 1", b"x-a: 2", b"Content-Type: application/json", b"X-B: \xff\xfe")

    assert for_worker(sent) == (
        b"Accept: */*\r\nX-A: 1\r\nx-a: 2\r\nContent-Type: application/json\r\nX-B: \xff\xfe\r\n"
    )


@pytest.mark.parametrize(
    "name",
    [
        "Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Proxy-Connection", "TE", "Trailer",
        "Upgrade", "HTTP2-Settings", "Expect", "Proxy-Authorization", "X-Forwarded-For", "X-Forwarded-Proto",
        "X-Forwarded-Host", "X-Forwarded-Port", "Forwarded", "X-Real-IP", "Via", "X-Model-Preference",
        "X-Inference-DNA-Prefix", *STAMP_NAMES,
    ],
)  # fmt: skip
def test_what_is_ours_never_comes_from_a_client(name: str) -> None:
    for spelling in (name, name.lower(), name.upper()):
        assert for_worker(headers(f"{spelling}: x".encode(), b"X-A: 1")) == b"X-A: 1\r\n"


@pytest.mark.parametrize(
    "name",
    [
        "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Trailer", "Upgrade", "Deprecation",
        "Sunset", "X-Should-Retry", "Proxy-Authenticate", *STAMP_NAMES,
    ],
)  # fmt: skip
def test_what_is_ours_never_comes_from_a_worker_in_any_spelling(name: str) -> None:
    spellings = [name, name.lower(), name.upper(), name.replace("-", "_"), name.replace("-", "_", 1)]

    for spelling in spellings:
        assert seen_by_client(headers(f"{spelling}: x".encode(), b"X-A: 1")) == b"X-A: 1\r\n"


def test_what_a_worker_says_goes_on_in_order_duplicates_kept() -> None:
    said = headers(b"Set-Cookie: a", b"Content-Type: text/plain", b"Set-Cookie: b", b"Date: now", b"X_Own: 1")

    assert seen_by_client(said) == (
        b"Set-Cookie: a\r\nContent-Type: text/plain\r\nSet-Cookie: b\r\nDate: now\r\nX_Own: 1\r\n"
    )


@pytest.mark.parametrize(
    ("link", "kept"),
    [
        (b'</a>; rel="next"', True),
        (b'</v2>; rel="successor-version"', False),
        (b"</v2>; rel=sunset", False),
        (b'</v2>; rel="deprecation"', False),
    ],
)
def test_a_worker_does_not_speak_of_the_versions_end(link: bytes, kept: bool) -> None:
    assert (
        seen_by_client(headers(b"Link: " + link, b"X-A: 1"))
        == (b"Link: %b\r\n" % link if kept else b"") + b"X-A: 1\r\n"
    )


@pytest.mark.parametrize("encode", [for_worker, seen_by_client])
def test_names_in_connection_are_dropped(encode: object) -> None:
    assert callable(encode)
    lines = headers(b"Connection: X-A , x-b", b"X-A: 1", b"X-B: 2", b"X-C: 3", b"connection: x-d", b"X-D: 4")

    assert encode(lines) == b"X-C: 3\r\n"


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        ((), set()),
        ((b"Connection: close",), {b"close"}),
        ((b"Connection: A,b , C", b"Connection: d"), {b"a", b"b", b"c", b"d"}),
        ((b"Connection: ,",), {b""}),
    ],
)
def test_names_that_connection_declares(lines: tuple[bytes, ...], names: set[bytes]) -> None:
    assert connection(headers(*lines)) == names
