"""A worker's answer is read in exactly one way, or not at all; every table row however the bytes were split."""

from __future__ import annotations

import gc
from dataclasses import dataclass, replace

import pytest

from gateway.proxy.answer import AnswerReader
from gateway.proxy.limits import Limits


@dataclass(frozen=True)
class Outcome:
    status: int | None
    body: bytes
    complete: bool
    broken: bool
    reusable: bool


def read(pieces: list[bytes], *, head_only: bool = False, limits: Limits | None = None) -> Outcome:
    """Feed an answer as a connection does: nothing more once it is complete or broken."""
    reader, body, surplus = AnswerReader(limits or Limits(), head_only=head_only), b"", False
    for piece in pieces:
        if reader.complete or reader.broken:
            surplus = True
            break
        reader.feed(piece)
        body += reader.take_body()
    status = reader.head.status if reader.head is not None else None
    return Outcome(status, body, reader.complete, bool(reader.broken), reader.is_reusable and not surplus)


def everywhere(data: bytes, *, head_only: bool = False) -> set[Outcome]:
    """Outcomes of one read, of one byte a read, and of every split in two."""
    pieces = [[data], [data[at : at + 1] for at in range(len(data))]]
    pieces += [[data[:at], data[at:]] for at in range(1, len(data))]
    return {read(split, head_only=head_only) for split in pieces}


OK = b"HTTP/1.1 200 OK\r\n"
LENGTH = OK + b"Content-Length: 3\r\n\r\nabc"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    ("answer", "status", "body", "reusable"),
    [
        pytest.param(LENGTH, 200, b"abc", True, id="length"),
        pytest.param(CHUNKED, 200, b"abc", True, id="chunked"),
        pytest.param(OK + b"Content-Length: 0\r\n\r\n", 200, b"", True, id="length-of-zero"),
        pytest.param(OK + b"Content-Length: 03 \r\n\r\nabc", 200, b"abc", True, id="length-not-canonical"),
        pytest.param(OK + b"Transfer-Encoding: Chunked\r\n\r\n0\r\n\r\n", 200, b"", True, id="chunked-in-capitals"),
        pytest.param(OK + b"Transfer-Encoding: chunked\r\n\r\n1;a=b\r\nx\r\n0\r\n\r\n", 200, b"x", True, id="ext"),
        pytest.param(
            OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-Inference-DNA: evil\r\n\r\n",
            200, b"x", True, id="trailers-are-dropped",
        ),
        pytest.param(b"HTTP/1.1 204 X\r\n\r\n", 204, b"", True, id="204"),
        pytest.param(b"HTTP/1.1 204 X\r\nContent-Length: 3\r\n\r\n", 204, b"", True, id="204-with-a-length"),
        pytest.param(b"HTTP/1.1 304 X\r\nContent-Length: 3\r\n\r\n", 304, b"", True, id="304-with-a-length"),
        pytest.param(b"HTTP/1.1 304 X\r\nTransfer-Encoding: chunked\r\n\r\n", 304, b"", True, id="304-with-chunks"),
        pytest.param(b"HTTP/1.1 599 X\r\nContent-Length: 1\r\n\r\nx", 599, b"x", True, id="599"),
        pytest.param(b"HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx", 200, b"x", True, id="no-reason"),
        pytest.param(OK + b"Connection: close\r\nContent-Length: 3\r\n\r\nabc", 200, b"abc", False, id="close"),
        pytest.param(b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc", 200, b"abc", False, id="1.0"),
        pytest.param(
            b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nabc",
            200, b"abc", True, id="1.0-kept",
        ),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n" + LENGTH, 200, b"abc", True, id="100-is-passed-over"),
        pytest.param(
            b"HTTP/1.1 102 X\r\n\r\nHTTP/1.1 103 X\r\nLink: </a>\r\n\r\nHTTP/1.1 100 X\r\n\r\n" + CHUNKED,
            200, b"abc", True, id="several-interim-answers",
        ),
        pytest.param(
            OK + b"Connection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 1\r\n\r\nx", 200, b"x", True, id="offer"
        ),
    ],
)  # fmt: skip
def test_sound_answers(answer: bytes, status: int, body: bytes, reusable: bool) -> None:
    assert everywhere(answer) == {Outcome(status, body, complete=True, broken=False, reusable=reusable)}


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n", id="101"),
        pytest.param(b"HTTP/1.1 101 X\r\n\r\n", id="101-bare"),
        pytest.param(b"HTTP/1.1 099 X\r\nContent-Length: 0\r\n\r\n", id="099"),
        pytest.param(b"HTTP/1.1 600 X\r\nContent-Length: 0\r\n\r\n", id="600"),
        pytest.param(b"HTTP/1.1 999 X\r\nContent-Length: 0\r\n\r\n", id="999"),
        pytest.param(b"HTTP/1.1 20 X\r\nContent-Length: 0\r\n\r\n", id="two-digits"),
        pytest.param(b"HTTP/1.2 200 OK\r\nContent-Length: 0\r\n\r\n", id="version-1.2"),
        pytest.param(b"HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n", id="version-2.0"),
        pytest.param(b"HTTP/0.9 200 OK\r\nContent-Length: 0\r\n\r\n", id="version-0.9"),
        pytest.param(b"SSH-2.0-x\r\n", id="another-protocol"),
        pytest.param(OK + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", id="length-and-chunks"),
        pytest.param(OK + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", id="chunks-and-length"),
        pytest.param(OK + b"Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", id="two-lengths"),
        pytest.param(OK + b"Content-Length: 3, 3\r\n\r\nabc", id="list-of-lengths"),
        pytest.param(OK + b"Content-Length: -1\r\n\r\n", id="negative-length"),
        pytest.param(OK + b"Content-Length: 1_0\r\n\r\n", id="length-with-underscore"),
        pytest.param(OK + b"Content-Length:\r\n\r\n", id="empty-length"),
        pytest.param(OK + b"Content-Length: 9999999999999999999\r\n\r\n", id="length-too-large"),
        pytest.param(OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", id="another-coding-before"),
        pytest.param(OK + b"Transfer-Encoding: gzip\r\n\r\n", id="another-coding"),
        pytest.param(OK + b"Transfer-Encoding: chunked\t\r\n\r\n0\r\n\r\n", id="coding-and-tab"),
        pytest.param(OK + b"Content-Length:\t3\r\n\r\nabc", id="tab-and-length"),
        pytest.param(OK + b"Transfer-Encoding: identity\r\n\r\n", id="identity"),
        pytest.param(
            OK + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", id="chunked-twice"
        ),
        pytest.param(b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", id="chunks-in-1.0"),
        pytest.param(OK + b"\r\nabc", id="neither-length-nor-chunks"),
        pytest.param(OK + b"Connection: close\r\n\r\nabc", id="close-delimited"),
        pytest.param(OK + b"X: a\r\n b\r\nContent-Length: 0\r\n\r\n", id="folding"),
        pytest.param(OK + b"X: a\nContent-Length: 0\r\n\r\n", id="bare-lf"),
        pytest.param(OK + b"X: a\rb\r\nContent-Length: 0\r\n\r\n", id="bare-cr"),
        pytest.param(OK + b"X: a\x00b\r\nContent-Length: 0\r\n\r\n", id="nul"),
        pytest.param(OK + b"X : a\r\nContent-Length: 0\r\n\r\n", id="blank-before-the-colon"),
        pytest.param(b"HTTP/1.0 100 Continue\r\n\r\n" + LENGTH, id="interim-of-1.0"),
        pytest.param(b"HTTP/1.1 103 X\r\nConnection: close\r\n\r\n" + LENGTH, id="interim-that-closes"),
        pytest.param(
            b"HTTP/1.1 103 X\r\nContent-Length:\xb50\r\n\r\n" + LENGTH, id="interim-with-a-length-that-is-none"
        ),
        pytest.param(b"HTTP/1.1 103 X\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + LENGTH, id="interim-in-chunks"),
        pytest.param(b"HTTP/1.1 104 X\r\nContent-Length: 5\r\n\r\nhello" + LENGTH, id="interim-with-a-body"),
    ],
)
def test_answers_nothing_of_which_goes_on(answer: bytes) -> None:
    assert everywhere(answer) == {Outcome(None, b"", complete=False, broken=True, reusable=False)}


@pytest.mark.parametrize(
    "begun",
    [
        pytest.param(b"SSH-2.0-x\r\n", id="first-line"),
        pytest.param(b"\r\n" + LENGTH[:20], id="empty-line-before"),
        pytest.param(OK + b"X : a\r\n", id="blank-before-the-colon"),
        pytest.param(OK + b"X: a\r\n b\r\n", id="folding"),
        pytest.param(OK + b"X: a\r\nno colon\r\nY", id="a-line-in-the-middle"),
    ],
)
def test_a_head_that_nothing_can_save_is_refused_before_it_is_whole(begun: bytes) -> None:
    assert everywhere(begun) == {Outcome(None, b"", complete=False, broken=True, reusable=False)}


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        pytest.param(OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\nzz\r\n", b"x", id="no-size"),
        pytest.param(OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\n", b"x", id="bare-lf-behind-data"),
        pytest.param(OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n", b"x", id="data-too-long"),
        pytest.param(OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n11111111111111111\r\n", b"x", id="overflow"),
    ],
)
def test_an_answer_that_breaks_after_its_head(answer: bytes, body: bytes) -> None:
    assert everywhere(answer) == {Outcome(200, body, complete=False, broken=True, reusable=False)}


CHUNKS = OK + b"Transfer-Encoding: chunked\r\n\r\n"
SHORT = replace(Limits(), max_chunk_extension=50, max_trailer=50)


@pytest.mark.parametrize(
    ("rest", "sound"),
    [
        pytest.param(b"1;" + b"a" * 49 + b"\r\nx\r\n0\r\n\r\n", True, id="extension-as-long-as-may-be"),
        pytest.param(b"1;" + b"a" * 50 + b"\r\nx\r\n0\r\n\r\n", False, id="extension-too-long"),
        pytest.param(b"1;aaaaaaa\r\nx\r\n" * 50 + b"0\r\n\r\n", True, id="extensions-of-many-chunks"),
        pytest.param(b"0000000001\r\nx\r\n" * 50 + b"0\r\n\r\n", True, id="sizes-padded-by-zeros"),
        pytest.param(b"0\r\nX: " + b"a" * 50 + b"\r\n\r\n", False, id="trailer-too-long"),
    ],
)
def test_what_is_no_body_is_bounded_and_a_stream_is_not(rest: bytes, sound: bool) -> None:
    answer = CHUNKS + rest

    for pieces in ([answer], [answer[at : at + 1] for at in range(len(answer))]):
        assert read(pieces, limits=SHORT).broken is not sound


@pytest.mark.parametrize("answer", [LENGTH, CHUNKED], ids=["length", "chunked"])
def test_no_part_of_an_answer_is_complete(answer: bytes) -> None:
    for size in range(len(answer)):
        for pieces in ([answer[:size]], [answer[at : at + 1] for at in range(size)]):
            outcome = read(pieces)
            assert not outcome.complete, f"after {size} bytes"
            assert not outcome.broken


@pytest.mark.parametrize("answer", [LENGTH, CHUNKED, b"HTTP/1.1 204 X\r\n\r\n"], ids=["length", "chunked", "204"])
@pytest.mark.parametrize(
    "surplus",
    [
        b"x",
        b"\x00",
        b"HTTP/1.1 2",
        b"HTTP/1.1 204 X\r\n\r\n",
        b"HTTP/1.1 100 X\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
        b"GET / HTTP/1.1\r\n",
    ],
)
def test_bytes_behind_the_end_spoil_the_connection_and_nothing_else(answer: bytes, surplus: bytes) -> None:
    outcome = read([answer + surplus])

    assert outcome.complete
    assert not outcome.broken
    assert not outcome.reusable
    assert outcome.body == read([answer]).body


@pytest.mark.parametrize(
    ("answer", "reusable"),
    [
        pytest.param(OK + b"Content-Length: 3\r\n\r\n", True, id="length"),
        pytest.param(OK + b"Transfer-Encoding: chunked\r\n\r\n", True, id="chunked"),
        pytest.param(OK + b"Content-Length: 3\r\n\r\nabc", False, id="a-body-all-the-same"),
        pytest.param(b"HTTP/1.1 100 X\r\n\r\n" + OK + b"Content-Length: 3\r\n\r\n", True, id="behind-an-interim-one"),
    ],
)
def test_an_answer_to_head_ends_with_its_head(answer: bytes, reusable: bool) -> None:
    assert everywhere(answer, head_only=True) == {
        Outcome(200, b"", complete=True, broken=False, reusable=reusable),
    }


@pytest.mark.parametrize("before", [b"8\r\n", b"000a;x=y\r\nde"])
def test_data_that_looks_like_a_whole_chunk_is_data(before: bytes) -> None:
    read_as_they_came = read([OK + b"Transfer-Encoding: chunked\r\n\r\n" + before, b"3\r\nabc\r\n", b"\r\n0\r\n\r\n"])

    assert read_as_they_came.body.endswith(b"3\r\nabc\r\n")
    assert read_as_they_came.reusable


def test_a_whole_chunk_behind_the_end_is_surplus() -> None:
    reader = AnswerReader(Limits(), head_only=False)
    reader.feed(CHUNKED)
    reader.feed(b"3\r\nabc\r\n")

    assert reader.take_body() == b"abc"
    assert reader.surplus


def test_reads_that_are_one_chunk_each_and_others_keep_their_order() -> None:
    reader = AnswerReader(Limits(), head_only=False)
    reader.feed(OK + b"Transfer-Encoding: chunked\r\n\r\n")
    for piece in (b"1\r\na\r\n", b"1\r\nb\r\n1\r\nc\r\n", b"1\r\nd\r\n", b"2\r\nef", b"\r\n", b"1\r\ng\r\n"):
        reader.feed(piece)

    assert reader.take_body() == b"abcdefg"


def test_an_answer_to_head_tells_its_framing() -> None:
    reader = AnswerReader(Limits(), head_only=True)
    reader.feed(OK + b"Content-Length: 3\r\n\r\n")

    assert reader.head is not None
    assert (reader.head.length, reader.head.has_body) == (3, False)


def test_header_lines_are_kept_in_order_with_names_as_sent() -> None:
    reader = AnswerReader(Limits(), head_only=False)
    reader.feed(OK + b"Set-Cookie: a\r\nX-E:\r\nset-cookie:  b \r\nContent-Length: 0\r\n\r\n")

    assert reader.head is not None
    assert [(line.name, line.value, line.shown) for line in reader.head.lines] == [
        (b"set-cookie", b"a", b"Set-Cookie: a\r\n"),
        (b"x-e", b"", b"X-E: \r\n"),
        (b"set-cookie", b"b", b"set-cookie: b\r\n"),
        (b"content-length", b"0", b""),
    ]


def test_headers_of_an_interim_answer_are_not_the_final_ones() -> None:
    reader = AnswerReader(Limits(), head_only=False)
    reader.feed(b"HTTP/1.1 103 X\r\nX-Inference-DNA: a1b2c3d4\r\n\r\n" + LENGTH)

    assert reader.head is not None
    assert [line.name for line in reader.head.lines] == [b"content-length"]


SMALL = replace(Limits(), max_worker_head=200, max_worker_headers=5)


@pytest.mark.parametrize(
    ("head", "sound"),
    [
        pytest.param(b"X: " + b"y" * 100 + b"\r\n", True, id="small-enough"),
        pytest.param(b"X: " + b"y" * 300 + b"\r\n", False, id="too-large"),
        pytest.param(b"A: 1\r\n" * 4, True, id="few-enough-lines"),
        pytest.param(b"A: 1\r\n" * 5, False, id="too-many-lines"),
    ],
)
def test_a_head_is_bounded_in_one_read_and_in_many(head: bytes, sound: bool) -> None:
    answer = OK + head + b"Content-Length: 1000\r\n\r\n" + b"x" * 1000

    for pieces in ([answer], [answer[at : at + 1] for at in range(len(answer))]):
        assert read(pieces, limits=SMALL).broken is not sound


def test_many_small_interim_answers_are_no_large_head() -> None:
    answer = b"HTTP/1.1 102 Processing\r\n\r\n" * 1000 + LENGTH

    assert read([answer[at : at + 100] for at in range(0, len(answer), 100)], limits=SMALL).body == b"abc"


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        (b"Keep-Alive: timeout=5\r\n", 5.0),
        (b"Keep-Alive: timeout=15, max=100\r\n", 15.0),
        (b"Keep-Alive: max=100, Timeout=7\r\n", 7.0),
        (b"Keep-Alive: max=100\r\n", None),
        (b"Keep-Alive: timeout=x\r\n", None),
        (b"Keep-Alive: mytimeout=5\r\n", None),
        (b"", None),
    ],
)
def test_how_long_a_worker_keeps_its_connection(line: bytes, seconds: float | None) -> None:
    reader = AnswerReader(Limits(), head_only=False)
    assert reader.kept_s() is None
    reader.feed(OK + line + b"Content-Length: 0\r\n\r\n")

    assert reader.kept_s() == seconds


def test_reading_leaves_nothing_for_the_garbage_collector() -> None:
    gc.collect()
    gc.disable()
    try:
        for answer in (LENGTH, CHUNKED):
            reader = AnswerReader(Limits(), head_only=False)
            reader.feed(answer)
            assert reader.take_body() == b"abc"
            del reader
        assert gc.collect() == 0
    finally:
        gc.enable()


@pytest.mark.parametrize("split", [True, False])
def test_the_version_is_that_of_the_final_head_however_its_bytes_come(split: bool) -> None:
    interim, start = b"HTTP/1.1 103 X\r\n\r\n", b"HTTP/1.0 200 X\r\nA: "
    rest = b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    reader = AnswerReader(Limits(), head_only=False)

    for piece in (interim + start, rest) if split else (interim + start + rest,):
        reader.feed(piece)

    assert reader.broken == "the answer's transfer coding is not exactly `chunked`"
