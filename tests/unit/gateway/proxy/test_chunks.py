"""Chunked bodies: decoded to the exact byte, or refused; never more than llhttp accepts."""

from __future__ import annotations

from dataclasses import replace

import httptools
import pytest

from gateway.proxy.chunks import ChunkDecoder, framed, unframed
from gateway.proxy.limits import Limits
from gateway.proxy.problem import Refused

LIMITS = replace(Limits(), max_chunk_extension=20, max_trailer=30)

Outcome = tuple[bytes, bytes] | int | None


def decode(pieces: list[bytes], *, max_body: int | None = 1000, limits: Limits = LIMITS) -> Outcome:
    """Body and what stands behind it; the status of a refusal; None while the body is open."""
    decoder = ChunkDecoder(limits, max_body=max_body)
    for number, piece in enumerate(pieces):
        try:
            rest = decoder.feed(piece)
        except Refused as refused:
            return refused.problem.status if refused.close else -1
        if rest is not None:
            return bytes(decoder.body), rest + b"".join(pieces[number + 1 :])
    return None


def llhttp_body(data: bytes) -> bytes | None:
    """What llhttp makes of it; None for an error or an open message."""

    class Collector:
        body, complete = b"", False

        def on_body(self, piece: bytes) -> None:
            self.body += piece

        def on_message_complete(self) -> None:
            self.complete = True

    collector = Collector()
    parser = httptools.HttpRequestParser(collector)
    parser.feed_data(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
    try:
        parser.feed_data(data)
    except httptools.HttpParserError:
        return None
    return collector.body if collector.complete else None


END = b"0\r\n\r\n"

ACCEPTED = [
    pytest.param(END, b"", b"", id="empty"),
    pytest.param(b"3\r\nabc\r\n" + END, b"abc", b"", id="one-chunk"),
    pytest.param(b"1\r\na\r\n2\r\nbc\r\n" + END, b"abc", b"", id="two-chunks"),
    pytest.param(b"A\r\n0123456789\r\n" + END, b"0123456789", b"", id="hex-in-capitals"),
    pytest.param(b"a\r\n0\r\n\r\n5678\n\r\n" + END, b"0\r\n\r\n5678\n", b"", id="data-that-looks-like-an-end"),
    pytest.param(b"03\r\nabc\r\n" + END, b"abc", b"", id="leading-zero"),
    pytest.param(b"3\r\nabc\r\n000\r\n\r\n", b"abc", b"", id="zeros-as-the-end"),
    pytest.param(b"3;a=b\r\nabc\r\n" + END, b"abc", b"", id="extension"),
    pytest.param(b'3;a="b;c"\r\nabc\r\n0;x\r\n\r\n', b"abc", b"", id="quoted-extension"),
    pytest.param(b'3;a="b\\"c"\r\nabc\r\n' + END, b"abc", b"", id="escaped-quote-in-an-extension"),
    pytest.param(b"3;a;b;c=d\r\nabc\r\n" + END, b"abc", b"", id="several-extensions"),
    pytest.param(b"3\r\nabc\r\n0\r\nX: y\r\nZ:\r\n\r\n", b"abc", b"", id="trailers"),
    pytest.param(b"3\r\nabc\r\n" + END + b"GET / HTTP/1.1\r\n", b"abc", b"GET / HTTP/1.1\r\n", id="bytes-behind"),
    pytest.param(b"3\r\nabc\r\n" + END + b"\r\n", b"abc", b"\r\n", id="an-empty-line-behind"),
    pytest.param(b"3;" + b"x" * 19 + b"\r\nabc\r\n" + END, b"abc", b"", id="extensions-at-the-limit"),
    pytest.param(b"3\r\nabc\r\n0\r\nX: " + b"y" * 25 + b"\r\n\r\n", b"abc", b"", id="trailers-at-the-limit"),
]


@pytest.mark.parametrize(("data", "body", "rest"), ACCEPTED)
def test_bodies_are_decoded_the_same_however_they_were_split(data: bytes, body: bytes, rest: bytes) -> None:
    for at in range(len(data) + 1):
        assert decode([data[:at], data[at:]]) == (body, rest), f"split at {at}"
    assert decode([data[at : at + 1] for at in range(len(data))]) == (body, rest)


REFUSED = [
    pytest.param(b"\r\n\r\n", 400, id="no-size"),
    pytest.param(b"x\r\n", 400, id="no-hex"),
    pytest.param(b"0x3\r\nabc\r\n", 400, id="prefix"),
    pytest.param(b"+3\r\nabc\r\n", 400, id="plus"),
    pytest.param(b"-1\r\n", 400, id="minus"),
    pytest.param(b"1_0\r\n", 400, id="underscore"),
    pytest.param(b" 3\r\nabc\r\n", 400, id="blank-before"),
    pytest.param(b"3 \r\nabc\r\n", 400, id="blank-behind"),
    pytest.param(b"3\t;a\r\nabc\r\n", 400, id="tab-before-the-extension"),
    pytest.param(b"3\nabc\r\n", 400, id="bare-lf-behind-the-size"),
    pytest.param(b"3\rabc\r\n", 400, id="bare-cr-behind-the-size"),
    pytest.param(b"3\r\r\nabc", 400, id="two-cr"),
    pytest.param(b"3;\nabc\r\n", 400, id="bare-lf-in-an-extension"),
    pytest.param(b"3;a\rb\r\n", 400, id="bare-cr-in-an-extension"),
    pytest.param(b"3;\r\nabc\r\n", 400, id="empty-extension"),
    pytest.param(b"3; a\r\nabc\r\n", 400, id="blank-in-an-extension"),
    pytest.param(b'3;a="b\r\nabc\r\n', 400, id="open-quote-in-an-extension"),
    pytest.param(b"3;a\x00\r\n", 400, id="nul-in-an-extension"),
    pytest.param(b"3;a\x7f\r\n", 400, id="delete-in-an-extension"),
    pytest.param(b"3\r\nabcd\r\n", 400, id="data-too-long"),
    pytest.param(b"3\r\nabc\n", 400, id="bare-lf-behind-data"),
    pytest.param(b"3\r\nabc\r0", 400, id="bare-cr-behind-data"),
    pytest.param(b"3\r\nabc0\r\n\r\n", 400, id="nothing-behind-data"),
    pytest.param(b"10000000000000003\r\n", 400, id="size-over-64-bits"),
    pytest.param(b"0\r\nX\r\n\r\n", 400, id="trailer-without-a-colon"),
    pytest.param(b"0\r\n X: y\r\n\r\n", 400, id="folded-trailer"),
    pytest.param(b"0\r\ncontent-length: 35\r\n\r\n", 400, id="length-as-a-trailer"),
    pytest.param(b"0\r\nTransfer-Encoding: chunked\r\n\r\n", 400, id="coding-as-a-trailer"),
    pytest.param(b"0\r\nConnection: close\r\n\r\n", 400, id="connection-as-a-trailer"),
    pytest.param(b"0\r\nX : y\r\n\r\n", 400, id="blank-before-a-trailers-colon"),
    pytest.param(b"0\r\n: y\r\n\r\n", 400, id="trailer-without-a-name"),
    pytest.param(b"0\r\nX: y\n\r\n", 400, id="bare-lf-behind-a-trailer"),
    pytest.param(b"0\r\nX: a\x00\r\n\r\n", 400, id="nul-in-a-trailer"),
    pytest.param(b"0\r\n\n", 400, id="bare-lf-at-the-end"),
    pytest.param(b"0\n\r\n", 400, id="bare-lf-behind-the-last-size"),
    pytest.param(b"3;" + b"x" * 20 + b"\r\nabc\r\n", 400, id="extension-over-the-limit"),
    pytest.param(b"3;" + b"x" * 500, 400, id="open-extension-over-the-limit"),
    pytest.param(b"1;" + b"x" * 9 + b"\r\na\r\n1;" + b"x" * 10 + b"\r\n", 400, id="extensions-together"),
    pytest.param(b"0" * 30 + b"1\r\na\r\n", 400, id="leading-zeros-over-the-limit"),
    pytest.param(b"0" * 300, 400, id="open-zeros-over-the-limit"),
    pytest.param(b"0\r\nX: " + b"y" * 26 + b"\r\n\r\n", 400, id="trailer-over-the-limit"),
    pytest.param(b"0\r\nX: " + b"y" * 260, 400, id="open-trailer-over-the-limit"),
    pytest.param(b"0\r\n" + b"X: y\r\n" * 6, 400, id="trailers-together"),
    pytest.param(b"3e9\r\n", 413, id="size-over-the-bodys-limit"),
    pytest.param(b"FFFFFFFFFFFFFFFF\r\n", 413, id="largest-size"),
    pytest.param(b"3e8\r\n" + b"x" * 1000 + b"\r\n1\r\n", 413, id="together-over-the-bodys-limit"),
]


@pytest.mark.parametrize(("data", "status"), REFUSED)
def test_everything_else_is_refused_the_same_however_it_was_split(data: bytes, status: int) -> None:
    assert decode([data]) == status
    assert decode([data[at : at + 1] for at in range(len(data))]) == status
    for at in range(1, len(data), 1 if len(data) < 400 else 37):
        assert decode([data[:at], data[at:]]) == status, f"split at {at}"


@pytest.mark.parametrize(("data", "body", "rest"), ACCEPTED)
def test_llhttp_reads_the_same_body(data: bytes, body: bytes, rest: bytes) -> None:
    assert llhttp_body(data.removesuffix(rest) if rest else data) == body


@pytest.mark.parametrize("open_body", [b"", b"3", b"3\r", b"3\r\n", b"3\r\nab", b"3\r\nabc", b"0\r\n", b"0\r\n\r"])
def test_an_open_body_is_not_over(open_body: bytes) -> None:
    assert decode([open_body]) is None


def test_extensions_of_an_answer_are_bounded_by_the_chunk_however_it_was_split() -> None:
    data = (b"1;" + b"x" * 19 + b"\r\na\r\n") * 3 + END

    for at in range(len(data) + 1):
        assert decode([data[:at], data[at:]], max_body=None) == (b"aaa", b""), f"split at {at}"


@pytest.mark.parametrize("size", [*range(1, 40), *range(240, 280), *range(4080, 4096)])
def test_a_read_that_is_one_chunk_of_ours_is_told_by_its_two_ends(size: int) -> None:
    data = b"\n" * size

    assert unframed(framed(data)) == data


@pytest.mark.parametrize("size", [4096, 65536, 300_000])
def test_a_large_chunk_is_framed_like_any_other_and_read_by_the_decoder(size: int) -> None:
    data = b"x" * size

    assert decode([framed(data) + END], max_body=None) == (data, b"")
    assert unframed(framed(data)) == b""


def test_no_bytes_are_no_chunk_because_an_empty_one_would_be_the_end() -> None:
    assert framed(b"") == b""


ODD_LINES = (b"%x", b"%X", b"0%x", b"%x;a", b"%d", b" %x", b"%x ", b"-%x", b"+%x", b"0x%x")


@pytest.mark.parametrize("line", ODD_LINES)
@pytest.mark.parametrize("end", [b"\r\n", b"\n\n", b"\r\r", b"\n", b"", b"\r\n0\r\n\r\n"])
def test_what_is_told_to_be_one_chunk_is_nothing_else_to_the_decoder(line: bytes, end: bytes) -> None:
    """Every size line beside every amount of data around what it says."""
    for stated in (1, 9, 10, 14, 15, 16, 17, 31, 171, 254, 255, 256, 257, 4094, 4095, 4096):
        for size in range(max(stated - 7, 0), stated + 8):
            for data in (b"a" * size, b"\r\n" * (size // 2) + b"a" * (size % 2)):
                read = line % stated + b"\r\n" + data + end
                told = unframed(read)
                if told:
                    assert decode([read + END], max_body=None) == (told, b""), read


def test_trailers_are_counted() -> None:
    decoder = ChunkDecoder(LIMITS, max_body=10)

    assert decoder.feed(b"0\r\nX: y\r\nA: b\r\n\r\n") == b""
    assert decoder.trailers == 2
