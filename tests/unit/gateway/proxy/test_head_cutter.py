"""A head is cut out of bytes; first line, line ends and size are checked in the order of the bytes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.proxy.head_cutter import HeadCutter
from gateway.proxy.limits import Limits
from gateway.proxy.problem import Refused

LIMITS = replace(Limits(), max_head=200, max_target=40)


def outcome(pieces: list[bytes], limits: Limits = LIMITS) -> int:
    """Length of the head, 0 while open, or minus the status of the refusal."""
    cutter = HeadCutter(limits)
    try:
        for piece in pieces:
            size = cutter.cut(piece)
            if size:
                return size
    except Refused as refused:
        return -refused.problem.status
    return 0


LINE = b"GET / HTTP/1.1\r\n"

CASES = [
    pytest.param(LINE + b"\r\n", 18, id="no-header-lines"),
    pytest.param(LINE + b"Host: a\r\n\r\nbody", 27, id="body-behind-it-is-not-counted"),
    pytest.param(b"\r\n\r\n" + LINE + b"\r\n", 18, id="empty-lines-before-it-are-gone"),
    pytest.param(b"", 0, id="nothing"),
    pytest.param(b"GET / HT", 0, id="open-line"),
    pytest.param(LINE + b"Host: a\r\n", 0, id="open-head"),
    pytest.param(LINE + b"Host: a\r\n\r", 0, id="open-at-the-last-byte"),
    pytest.param(b"GET / HTTP/1.0\r\n\r\n", 18, id="version-1.0"),
    pytest.param(b"GET / HTTP/1.2\r\n", -505, id="version-1.2"),
    pytest.param(b"GET / HTTP/2.0\r\n", -505, id="version-2.0"),
    pytest.param(b"GET / HTTP/1.11\r\n", -400, id="version-with-too-many-digits"),
    pytest.param(b"GET / HTTP/01.1\r\n", -400, id="version-with-a-leading-zero"),
    pytest.param(b"GET / http/1.1\r\n", -400, id="version-in-small-letters"),
    pytest.param(b"GET / RTSP/1.0\r\n", -400, id="another-protocol"),
    pytest.param(b"GET /\r\n", -400, id="no-version"),
    pytest.param(b"GET\r\n", -400, id="method-alone"),
    pytest.param(b" GET / HTTP/1.1\r\n", -400, id="blank-before-the-method"),
    pytest.param(b"GET  / HTTP/1.1\r\n", -400, id="two-blanks"),
    pytest.param(b"GET /  HTTP/1.1\r\n", -400, id="two-blanks-before-the-version"),
    pytest.param(b"GET\t/ HTTP/1.1\r\n", -400, id="tab"),
    pytest.param(b"GET / HTTP/1.1 \r\n", -400, id="blank-at-the-end"),
    pytest.param(b"GET /a b HTTP/1.1\r\n", -400, id="blank-in-the-target"),
    pytest.param(b"GET /\xc3\xa9 HTTP/1.1\r\n", -400, id="target-not-ascii"),
    pytest.param(b"GET /\x7f HTTP/1.1\r\n", -400, id="control-in-the-target"),
    pytest.param(b"G\xc9T / HTTP/1.1\r\n", -400, id="method-not-a-token"),
    pytest.param(b"CONNECT a:1 HTTP/1.1\r\n", -405, id="connect"),
    pytest.param(b"CONNECT a:1 HTTP/3.1\r\n", -405, id="connect-before-its-version"),
    pytest.param(b"GET /" + b"a" * 39 + b" HTTP/1.1\r\n\r\n", 57, id="target-at-the-limit"),
    pytest.param(b"GET /" + b"a" * 40 + b" HTTP/1.1\r\n\r\n", -414, id="target-over-the-limit"),
    pytest.param(b"GET /" + b"a" * 400, -414, id="open-target-over-the-limit"),
    pytest.param(b"M" * 90, -414, id="open-method-without-end"),
    pytest.param(b"M" * 50 + b" / HTTP/1.1\r\n\r\n", 65, id="long-method-is-for-the-parser-to-refuse"),
    pytest.param(b"M" * 80 + b" / HTTP/1.1\r\n\r\n", -414, id="line-over-the-limit-for-its-method"),
    pytest.param(b"GET / HTTP/1.1\nHost: a\n\n", -400, id="bare-lf-line"),
    pytest.param(b"\nGET / HTTP/1.1\r\n", -400, id="bare-lf-before-the-line"),
    pytest.param(b"\rGET / HTTP/1.1\r\n", -400, id="bare-cr-before-the-line"),
    pytest.param(b"GET /\r HTTP/1.1\r\n", -400, id="bare-cr-in-the-line"),
    pytest.param(LINE + b"Host: a\nX: y", -400, id="bare-lf-after-a-header"),
    pytest.param(LINE + b"X: a\rb", -400, id="bare-cr-in-a-value"),
    pytest.param(LINE + b"Host: a\r\n\rZ", -400, id="cr-instead-of-the-end"),
    pytest.param(LINE + b"Host: a\r\n\n", -400, id="lf-instead-of-the-end"),
    pytest.param(LINE + b"X: " + b"y" * 177 + b"\r\n\r\n", 200, id="head-at-the-limit"),
    pytest.param(LINE + b"X: " + b"y" * 178 + b"\r\n\r\n", -431, id="head-over-the-limit"),
    pytest.param(LINE + b"X: " + b"y" * 400, -431, id="open-head-over-the-limit"),
    pytest.param(LINE + b"X: " + b"y" * 100 + b"\n" + b"y" * 400, -400, id="a-bare-lf-comes-before-the-size"),
    pytest.param(LINE + b"X: " + b"y" * 300 + b"\n", -431, id="the-size-comes-before-a-bare-lf"),
    pytest.param(LINE + b"X: " + b"y" * 180 + b"\r" + b"y" * 9, -431, id="a-cr-at-the-very-limit"),
    pytest.param(b"\r\n" * 16 + LINE + b"\r\n", 18, id="sixteen-empty-lines"),
    pytest.param(b"\r\n" * 17 + LINE + b"\r\n", -400, id="seventeen-empty-lines"),
]


@pytest.mark.parametrize(("data", "expected"), CASES)
def test_a_head_is_cut_or_refused_the_same_however_it_was_split(data: bytes, expected: int) -> None:
    assert outcome([data]) == expected
    assert outcome([data[at : at + 1] for at in range(len(data))]) == expected
    for at in range(1, len(data)):
        assert outcome([data[:at], data[at:]]) == expected, f"split at {at}"


def test_the_first_line_is_kept_until_the_next_head_begins() -> None:
    cutter = HeadCutter(Limits())
    cutter.cut(b"GET /x HTTP/1.0\r\nHost: a\r\n")

    assert cutter.first_line is not None
    assert cutter.first_line.groups() == (b"GET", b"/x", b"1", b"0")
    assert cutter.buffer == b"GET /x HTTP/1.0\r\nHost: a\r\n"


def test_a_reset_leaves_nothing() -> None:
    cutter = HeadCutter(Limits())
    cutter.cut(b"GET /x HTTP/1.0\r\nHost: a\r\n")
    cutter.reset()

    assert cutter.first_line is None
    assert cutter.buffer == b""


@pytest.mark.parametrize(
    ("data", "allow"), [(b"CONNECT a:1 HTTP/1.1\r\n", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")]
)
def test_connect_is_told_what_is_allowed(data: bytes, allow: str) -> None:
    with pytest.raises(Refused) as refused:
        HeadCutter(Limits()).cut(data)

    assert refused.value.problem.allow == allow
    assert refused.value.close
