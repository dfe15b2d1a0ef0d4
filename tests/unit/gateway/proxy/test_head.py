"""What a whole head says, and what it may not say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.proxy.head import Head, read_head
from gateway.proxy.head_cutter import HeadCutter
from gateway.proxy.limits import Limits
from gateway.proxy.problem import Refused


def head_of(lines: bytes, *, line: bytes = b"POST /x?y HTTP/1.1", limits: Limits | None = None) -> Head:
    limits = limits or Limits()
    cutter = HeadCutter(limits)
    size = cutter.cut(line + b"\r\n" + lines + b"\r\n")
    assert size
    assert cutter.first_line is not None
    return read_head(cutter.buffer[:size], cutter.first_line, limits)


def refusal_of(lines: bytes, *, line: bytes = b"POST /x?y HTTP/1.1", limits: Limits | None = None) -> int:
    with pytest.raises(Refused) as refused:
        head_of(lines, line=line, limits=limits)
    assert refused.value.close
    return refused.value.problem.status


HOST = b"Host: a\r\n"


def test_a_head_is_read_in_order_with_names_as_sent() -> None:
    head = head_of(b"Host: a\r\nX-One:  1 \t\r\nx-one:\t2\r\nEmpty:\r\nContent-Length: 5\r\n")

    assert head.request.method == "POST"
    assert head.request.target == b"/x?y"
    assert head.request.version == "1.1"
    assert head.request.keep_alive
    assert head.request.headers == [
        (b"host", b"Host", b"a"),
        (b"x-one", b"X-One", b"1"),
        (b"x-one", b"x-one", b"2"),
        (b"empty", b"Empty", b""),
        (b"content-length", b"Content-Length", b"5"),
    ]
    assert head.length == 5
    assert not head.expects_continue


def test_an_empty_value_does_not_run_into_the_next_name() -> None:
    head = head_of(b"X:\r\nHost: a\r\nY: \r\n\tZ:\r\n".replace(b"\r\n\tZ:", b"\r\nZ:"))

    assert [(name, value) for name, _, value in head.request.headers] == [
        (b"x", b""), (b"host", b"a"), (b"y", b""), (b"z", b""),
    ]  # fmt: skip


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_methods_that_are_served(method: str) -> None:
    assert head_of(HOST, line=method.encode() + b" / HTTP/1.1").request.method == method


@pytest.mark.parametrize(
    ("method", "status"),
    [(b"TRACE", 405), (b"PROPFIND", 405), (b"FOO", 400), (b"get", 400), (b"Post", 400), (b"GETX", 400)],
)
def test_methods_that_are_not(method: bytes, status: int) -> None:
    assert refusal_of(HOST, line=method + b" / HTTP/1.1") == status


@pytest.mark.parametrize(
    ("value", "length"),
    [
        pytest.param(b"0", 0, id="zero"),
        pytest.param(b"3", 3, id="three"),
        pytest.param(b"003", 3, id="leading-zeros"),
        pytest.param(b"0" * 400 + b"3", 3, id="many-leading-zeros"),
        pytest.param(b"3 ", 3, id="blank-behind"),
        pytest.param(b"\t3", 3, id="tab-before"),
        pytest.param(b"9223372036854775807", 2**63 - 1, id="just-below-2-to-63"),
    ],
)
def test_lengths(value: bytes, length: int) -> None:
    assert head_of(HOST + b"Content-Length: " + value + b"\r\n").length == length


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(b"Content-Length: 9223372036854775808\r\n", id="2-to-63"),
        pytest.param(b"Content-Length: 18446744073709551616\r\n", id="2-to-64"),
        pytest.param(b"Content-Length: 99999999999999999999999999\r\n", id="far-too-many-digits"),
        pytest.param(b"Content-Length: \r\n", id="empty"),
        pytest.param(b"Content-Length: +3\r\n", id="plus"),
        pytest.param(b"Content-Length: -3\r\n", id="minus"),
        pytest.param(b"Content-Length: 1_0\r\n", id="underscore"),
        pytest.param(b"Content-Length: 0x3\r\n", id="hex"),
        pytest.param(b"Content-Length: 3.0\r\n", id="point"),
        pytest.param(b"Content-Length: 3 3\r\n", id="two-numbers"),
        pytest.param(b"Content-Length: 3, 3\r\n", id="list"),
        pytest.param(b"Content-Length: \xb2\r\n", id="superscript-two"),
        pytest.param(b"Content-Length: 3\r\nContent-Length: 3\r\n", id="twice-the-same"),
        pytest.param(b"Content-Length: 3\r\ncontent-length: 4\r\n", id="twice-different"),
        pytest.param(b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", id="beside-chunked"),
        pytest.param(b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", id="behind-chunked"),
    ],
)
def test_lengths_that_are_refused(lines: bytes) -> None:
    assert refusal_of(HOST + lines) == 400


@pytest.mark.parametrize("value", [b"chunked", b"Chunked", b"CHUNKED", b" chunked "])
def test_chunked(value: bytes) -> None:
    assert head_of(HOST + b"Transfer-Encoding: " + value + b"\r\n").length is None


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        pytest.param(b"Transfer-Encoding: gzip, chunked\r\n", 501, id="known-coding-before-chunked"),
        pytest.param(b"Transfer-Encoding: gzip,deflate , chunked\r\n", 501, id="two-known-codings"),
        pytest.param(b"Transfer-Encoding: chunked, chunked\r\n", 400, id="chunked-twice"),
        pytest.param(b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400, id="two-lines"),
        pytest.param(b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", 400, id="identity-behind"),
        pytest.param(b"Transfer-Encoding: gzip\r\n", 400, id="gzip-alone"),
        pytest.param(b"Transfer-Encoding: identity\r\n", 400, id="identity"),
        pytest.param(b"Transfer-Encoding: xchunked\r\n", 400, id="unknown"),
        pytest.param(b"Transfer-Encoding: chunked;a=b\r\n", 400, id="parameter"),
        pytest.param(b'Transfer-Encoding: "chunked"\r\n', 400, id="quoted"),
        pytest.param(b"Transfer-Encoding: ,chunked\r\n", 400, id="empty-member"),
        pytest.param(b"Transfer-Encoding:\r\n", 400, id="empty"),
        pytest.param(b"Transfer-Encoding: \x0bchunked\r\n", 400, id="vertical-tab"),
        pytest.param(b"Transfer-Encoding: \xa0chunked\r\n", 400, id="no-break-space"),
    ],
)
def test_codings_that_are_refused(lines: bytes, status: int) -> None:
    assert refusal_of(HOST + lines) == status


def test_chunks_are_not_for_http_1_0() -> None:
    assert refusal_of(HOST + b"Transfer-Encoding: chunked\r\n", line=b"POST / HTTP/1.0") == 400


@pytest.mark.parametrize(
    "host",
    [b"a", b"a.b:80", b"127.0.0.1:8080", b"[::1]", b"[::1]:8080", b"xn--bcher-kva.example", b"a:", b"model_1.svc"],
)
def test_hosts(host: bytes) -> None:
    assert head_of(b"Host: " + host + b"\r\n").request.one(b"host") == host


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(b"", id="missing"),
        pytest.param(b"Host:\r\n", id="empty"),
        pytest.param(b"Host: a\r\nHost: a\r\n", id="twice"),
        pytest.param(b"Host: a b\r\n", id="blank"),
        pytest.param(b"Host: u@a\r\n", id="userinfo"),
        pytest.param(b"Host: a/b\r\n", id="path"),
        pytest.param(b"Host: a?b\r\n", id="query"),
        pytest.param(b"Host: a#\r\n", id="fragment"),
        pytest.param(b"Host: http://a\r\n", id="url"),
        pytest.param(b"Host: a:b\r\n", id="port-no-number"),
        pytest.param(b"Host: a:123456\r\n", id="port-too-long"),
        pytest.param(b"Host: ::1\r\n", id="v6-without-brackets"),
        pytest.param(b"Host: [::1\r\n", id="open-bracket"),
        pytest.param(b"Host: [::1]x\r\n", id="junk-behind-the-bracket"),
        pytest.param(b"Host: [a.b]\r\n", id="name-in-brackets"),
        pytest.param(b"Host: a\\b\r\n", id="backslash"),
        pytest.param(b"Host: a\xe9\r\n", id="not-ascii"),
    ],
)
def test_hosts_that_are_refused(lines: bytes) -> None:
    assert refusal_of(lines) == 400


def test_http_1_0_needs_no_host_but_not_two() -> None:
    assert head_of(b"", line=b"GET / HTTP/1.0").request.version == "1.0"
    assert refusal_of(b"Host: a\r\nHost: b\r\n", line=b"GET / HTTP/1.0") == 400


@pytest.mark.parametrize(
    ("line", "lines", "keeps"),
    [
        pytest.param(b"GET / HTTP/1.1", b"", True, id="1.1"),
        pytest.param(b"GET / HTTP/1.1", b"Connection: close\r\n", False, id="close"),
        pytest.param(b"GET / HTTP/1.1", b"Connection: x, CLOSE ,y\r\n", False, id="close-in-a-list"),
        pytest.param(b"GET / HTTP/1.1", b"Connection: x\r\nConnection: close\r\n", False, id="close-on-a-second-line"),
        pytest.param(b"GET / HTTP/1.1", b"Connection: closed\r\n", True, id="another-token"),
        pytest.param(b"GET / HTTP/1.1", b"Connection: upgrade\r\nUpgrade: h2c\r\n", False, id="upgrade"),
        pytest.param(b"GET / HTTP/1.0", b"", False, id="1.0"),
        pytest.param(b"GET / HTTP/1.0", b"Connection: Keep-Alive\r\n", True, id="1.0-keep-alive"),
        pytest.param(b"GET / HTTP/1.0", b"Connection: keep-alive, close\r\n", False, id="1.0-both"),
    ],
)
def test_keep_alive(line: bytes, lines: bytes, keeps: bool) -> None:
    assert head_of(HOST + lines, line=line).request.keep_alive is keeps


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(b"X: a\r\n b\r\n", id="folding"),
        pytest.param(b" X: a\r\n", id="folding-of-the-first-line"),
        pytest.param(b"X : a\r\n", id="blank-before-the-colon"),
        pytest.param(b": a\r\n", id="no-name"),
        pytest.param(b"X\r\n", id="no-colon"),
        pytest.param(b"X\x85: a\r\n", id="name-no-token"),
        pytest.param(b"X(: a\r\n", id="parenthesis-in-a-name"),
        pytest.param(b"X: a\x00b\r\n", id="nul"),
        pytest.param(b"X: a\x01b\r\n", id="control"),
        pytest.param(b"X: a\x7fb\r\n", id="delete"),
    ],
)
def test_header_lines_that_are_refused(lines: bytes) -> None:
    assert refusal_of(HOST + lines) == 400


def test_bytes_above_ascii_are_kept_in_values() -> None:
    assert head_of(HOST + b"X: \xff\xfe\tz\r\n").request.one(b"x") == b"\xff\xfe\tz"


def test_names_with_underscores_are_gone_before_anything_looks_at_them() -> None:
    request = head_of(HOST + b"Content_Length: 9\r\nX_Forwarded_For: 6.6.6.6\r\nX-A: 1\r\n").request

    assert [name for name, _, _ in request.headers] == [b"host", b"x-a"]


def test_header_lines_are_counted() -> None:
    limits = replace(Limits(), max_headers=3)

    assert head_of(HOST + b"A: 1\r\nB: 2\r\n", limits=limits).request.method == "POST"
    assert refusal_of(HOST + b"A: 1\r\nB: 2\r\nC: 3\r\n", limits=limits) == 431


def test_underscored_lines_count_too() -> None:
    assert refusal_of(HOST + b"A_: 1\r\n" * 3, limits=replace(Limits(), max_headers=3)) == 431


@pytest.mark.parametrize("value", [b"42", b"100-continue, 42", b"100-continue\r\nExpect: 100-continue"])
def test_other_expectations(value: bytes) -> None:
    assert refusal_of(HOST + b"Content-Length: 1\r\nExpect: " + value + b"\r\n") == 417


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(b"Connection: Upgrade\r\nUpgrade: websocket\r\n", id="handshake"),
        pytest.param(b"Connection: Upgrade\r\nUpgrade: h2c, WebSocket\r\n", id="in-a-list"),
        pytest.param(b"Upgrade: websocket\r\n", id="without-connection"),
        pytest.param(b"Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 35\r\n", id="with-a-body"),
    ],
)
def test_websocket_is_not_served(lines: bytes) -> None:
    assert refusal_of(HOST + lines, line=b"GET / HTTP/1.1") == 426
