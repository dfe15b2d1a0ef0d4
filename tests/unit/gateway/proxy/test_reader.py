"""Requests out of bytes: the whole corpus in every segmentation, pipelining, upgrades, bodies, limits."""

from __future__ import annotations

import gc
import random
import time
import tracemalloc
from dataclasses import replace

import pytest

from gateway.proxy.limits import Limits
from gateway.proxy.problem import Refused
from gateway.proxy.reader import RequestReader
from tests.support.http_cases import HttpCase, http_cases
from tests.support.reading import Read, byte_by_byte, read_all

CASES = http_cases()
HEAD = b"Host: a\r\n"
SECOND = b"GET /second HTTP/1.1\r\nHost: a\r\n\r\n"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_every_byte_case_reads_the_same_in_every_segmentation(case: HttpCase) -> None:
    whole = b"".join(case.segments)
    as_sent = read_all(case.segments, targets=True)

    first = as_sent[0].status if as_sent else "none"
    assert first in case.statuses
    assert len(as_sent) <= case.responses
    assert read_all([whole], targets=True) == as_sent
    assert read_all(byte_by_byte(whole), targets=True) == as_sent


@pytest.mark.parametrize("case", [case for case in CASES if sum(map(len, case.segments)) < 600], ids=lambda c: c.id)
def test_small_byte_cases_read_the_same_split_anywhere(case: HttpCase) -> None:
    whole = b"".join(case.segments)
    expected = read_all([whole], targets=True)

    for at in range(1, len(whole)):
        assert read_all([whole[:at], whole[at:]], targets=True) == expected, f"split at {at}"


@pytest.mark.parametrize("case", [case for case in CASES if sum(map(len, case.segments)) >= 600], ids=lambda c: c.id)
def test_large_byte_cases_read_the_same_in_random_splits(case: HttpCase) -> None:
    whole = b"".join(case.segments)
    expected = read_all([whole], targets=True)
    dice = random.Random(case.id)

    for _ in range(20):
        cuts = sorted(dice.sample(range(1, len(whole)), 7))
        pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
        assert read_all(pieces, targets=True) == expected, f"split at {cuts}"


# one request at a time ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "body"),
    [
        pytest.param(b"POST /first HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", b"abc", id="length"),
        pytest.param(b"POST /first HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", b"", id="length-of-zero"),
        pytest.param(b"GET /first HTTP/1.1\r\nHost: a\r\n\r\n", b"", id="no-body"),
        pytest.param(
            b"POST /first HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
            b"abc",
            id="chunked",
        ),
        pytest.param(
            b"POST /first HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nX-T: 1\r\n\r\n",
            b"abc",
            id="chunked-with-extension-and-trailer",
        ),
    ],
)
def test_a_second_request_never_enters_the_first_ones_body(first: bytes, body: bytes) -> None:
    whole = first + SECOND
    expected = [(b"/first", body), (b"/second", b"")]

    for at in range(len(whole) + 1):
        found = read_all([whole[:at], whole[at:]])
        assert [(read.target, read.body) for read in found] == expected, f"split at {at}"


def test_bytes_behind_a_request_wait_unread() -> None:
    reader = RequestReader(Limits())

    first = reader.feed(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab" + b"\x00 not HTTP at all")

    assert first is not None
    assert first.body == b"ab"
    assert reader.rest == b"\x00 not HTTP at all"
    assert reader.idle


def test_nonsense_behind_a_chunked_body_does_not_harm_the_request_before_it() -> None:
    request = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"

    found = read_all([request + b"\x00\x01\x02 nonsense\r\n\r\n"])

    assert [read.status for read in found] == [200, 400]
    assert found[0].body == b"x"


def test_what_a_connection_is_doing_is_told_at_every_step() -> None:
    reader = RequestReader(Limits())
    assert (reader.idle, reader.in_head, reader.in_body) == (True, False, False)

    assert reader.feed(b"POST / HTTP/1.1\r\nHost") is None
    assert (reader.idle, reader.in_head, reader.in_body) == (False, True, False)

    assert reader.feed(b": a\r\nContent-Length: 4\r\n\r\nab") is None
    assert (reader.idle, reader.in_head, reader.in_body, reader.body_bytes) == (False, False, True, 2)
    assert reader.head is not None
    assert reader.head.method == "POST"

    request = reader.feed(b"cd")
    assert request is not None
    assert request.body == b"abcd"
    assert (reader.idle, reader.in_head, reader.in_body, reader.body_bytes) == (True, False, False, 0)


def test_chunked_body_bytes_are_counted_while_they_come() -> None:
    reader = RequestReader(Limits())
    reader.feed(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab")

    assert reader.body_bytes == 2


def test_empty_lines_between_requests_are_skipped_and_leave_the_connection_idle() -> None:
    reader = RequestReader(Limits())

    assert reader.feed(b"\r\n\r\n") is None
    assert reader.idle
    assert reader.feed(b"\r\n" + SECOND) is not None


@pytest.mark.parametrize("split", [False, True], ids=["one-read", "byte-by-byte"])
def test_endless_empty_lines_are_refused(split: bool) -> None:
    lines = b"\r\n" * 17

    found = read_all(byte_by_byte(lines) if split else [lines])

    assert [read.status for read in found] == [400]


# upgrade --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [b"POST", b"GET", b"PUT"])
@pytest.mark.parametrize(
    ("framing", "body"),
    [
        pytest.param(b"Content-Length: 35\r\n\r\n", b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n", id="length"),
        pytest.param(
            b"Transfer-Encoding: chunked\r\n\r\n",
            b"23\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n\r\n0\r\n\r\n",
            id="chunked",
        ),
    ],
)
def test_an_upgrade_is_not_followed_and_its_body_is_body(method: bytes, framing: bytes, body: bytes) -> None:
    head = method + b" /outer HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n" + framing
    whole = head + body + b"GET /after HTTP/1.1\r\nHost: a\r\n\r\n"

    for at in range(1, len(whole)):
        found = read_all([whole[:at], whole[at:]])
        assert [read.target for read in found] == [b"/outer"], f"split at {at}"
        assert found[0].body == b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
        assert not found[0].keep_alive


def test_a_framing_error_in_the_body_of_an_upgrade_is_refused() -> None:
    head = b"POST / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nTransfer-Encoding: chunked\r\n\r\n"

    assert [read.status for read in read_all([head, b"xyz\r\n"])] == [400]


# bodies and limits ----------------------------------------------------------------------------------------------------

SMALL = replace(Limits(), max_body=10)


@pytest.mark.parametrize(
    ("message", "status"),
    [
        pytest.param(b"Content-Length: 10\r\n\r\n0123456789", 200, id="declared-just-small-enough"),
        pytest.param(b"Content-Length: 11\r\n\r\n", 413, id="declared-too-large-refused-before-a-byte-of-it"),
        pytest.param(b"Transfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n0\r\n\r\n", 200, id="chunked-at-the-limit"),
        pytest.param(b"Transfer-Encoding: chunked\r\n\r\nb\r\n", 413, id="one-chunk-too-large-refused-at-its-size"),
        pytest.param(b"Transfer-Encoding: chunked\r\n\r\n6\r\n012345\r\n5\r\n", 413, id="chunks-too-large-together"),
    ],
)
def test_a_body_is_bounded(message: bytes, status: int) -> None:
    whole = b"POST / HTTP/1.1\r\nHost: a\r\n" + message

    assert [read.status for read in read_all([whole], limits=SMALL)] == [status]
    assert [read.status for read in read_all(byte_by_byte(whole), limits=SMALL)] == [status]


def test_a_connection_can_be_given_a_smaller_limit_for_its_body() -> None:
    reader = RequestReader(Limits())
    reader.max_body = 2

    with pytest.raises(Refused) as refused:
        reader.feed(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n")

    assert refused.value.problem.status == 413
    assert refused.value.close


def test_a_large_body_in_many_reads_arrives_whole() -> None:
    body = random.Random(1).randbytes(1_000_000)
    head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n"
    pieces = [head, *(body[at : at + 65_536] for at in range(0, len(body), 65_536)), SECOND]

    found = read_all(pieces)

    assert [(read.target, read.body) for read in found] == [(b"/", body), (b"/second", b"")]


@pytest.mark.parametrize("framing", [b"Content-Length: 40000", b"Transfer-Encoding: chunked"], ids=["length", "chunks"])
def test_tiny_reads_of_a_body_do_not_cost_many_times_their_size(framing: bytes) -> None:
    # A list of two-byte pieces would take twenty times the body.
    chunked = framing.startswith(b"Transfer")
    reader = RequestReader(Limits())
    reader.feed(b"POST / HTTP/1.1\r\nHost: a\r\n" + framing + b"\r\n\r\n")
    tracemalloc.start()
    for _ in range(19_000):
        reader.feed(b"2\r\nab\r\n" if chunked else b"ab")
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert reader.body_bytes == 38_000
    assert held < 3 * 38_000


@pytest.mark.parametrize(
    "endless",
    [
        pytest.param(b"5;" + b"x" * 524_288, id="extension"),
        pytest.param(b"1;a=b\r\nx\r\n" * 50_000, id="many-small-extensions"),
        pytest.param(b"0" * 524_288, id="leading-zeros"),
        pytest.param(b"0\r\nX: " + b"x" * 524_288, id="one-trailer"),
        pytest.param(b"0\r\n" + b"X: y\r\n" * 80_000, id="many-trailers"),
    ],
)
def test_half_a_megabyte_of_what_is_no_body_is_refused_early(endless: bytes) -> None:
    reader = RequestReader(Limits())
    reader.feed(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")

    fed, status = 0, None
    while status is None and fed < len(endless):
        try:
            reader.feed(endless[fed : fed + 512])
        except Refused as refused:
            status = refused.problem.status
        fed += 512

    assert status == 400
    assert fed <= 24_000


def test_trailers_are_counted_and_dropped() -> None:
    reader = RequestReader(Limits())

    request = reader.feed(
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nAuthorization: evil\r\nHost: b\r\n\r\n"
    )

    assert request is not None
    assert request.one(b"authorization") is None
    assert request.all(b"host") == [b"a"]
    assert reader.trailers == 2


def test_a_trickled_head_costs_no_more_than_its_bytes() -> None:
    # Checking the whole open head again for every byte made this take seconds.
    reader = RequestReader(Limits())
    reader.feed(b"GET / HTTP/1.1\r\nHost: a\r\n")
    line = b"X: " + b"y" * 57 + b"\r\n"
    began = time.process_time()
    for at in range(len(line) * 500):
        reader.feed(line[at % len(line) :][:1])

    assert time.process_time() - began < 1.0


@pytest.mark.parametrize(
    ("message", "expects"),
    [
        pytest.param(b"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n", True, id="body-declared"),
        pytest.param(b"POST / HTTP/1.1\r\nExpect: 100-Continue\r\nTransfer-Encoding: chunked\r\n", True, id="chunked"),
        pytest.param(b"POST / HTTP/1.1\r\nContent-Length: 3\r\n", False, id="not-asked"),
        pytest.param(b"POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n", False, id="1.0-ignores-it"),
    ],
)
def test_who_waits_for_100_continue(message: bytes, expects: bool) -> None:
    reader = RequestReader(Limits())

    assert reader.feed(message + HEAD + b"\r\n") is None
    assert reader.expects_continue is expects


def test_continue_is_not_expected_where_no_body_follows() -> None:
    reader = RequestReader(Limits())

    request = reader.feed(b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n")

    assert request is not None
    assert not reader.expects_continue


def test_reading_leaves_nothing_for_the_garbage_collector() -> None:
    reader = RequestReader(Limits())
    gc.collect()
    gc.disable()
    try:
        for framing in (b"Content-Length: 1\r\n\r\nx", b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"):
            assert reader.feed(b"POST / HTTP/1.1\r\nHost: a\r\n" + framing) is not None
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_nothing_is_read_after_a_request_that_closes() -> None:
    whole = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" + SECOND

    assert read_all([whole]) == [Read(200, "GET", b"/", ((b"host", b"a"), (b"connection", b"close")))]


# heads that repeat ---------------------------------------------------------------------------------------------------

REPEATED = b"POST /x HTTP/1.1\r\nHost: a\r\nX-Request-ID: r\r\nContent-Length: 3\r\n\r\n"


def test_a_repeated_head_is_the_same_request_with_another_body() -> None:
    reader = RequestReader(Limits())

    first, second = reader.feed(REPEATED + b"abc"), reader.feed(REPEATED + b"def")

    assert first is not None
    assert second is not None
    assert (first.body, second.body) == (b"abc", b"def")
    assert second.facts is first.facts
    assert (second.method, second.target, second.headers) == (first.method, first.target, first.headers)


def test_what_becomes_of_one_request_does_not_reach_the_next_with_its_head() -> None:
    reader = RequestReader(Limits())
    first = reader.feed(REPEATED + b"abc")
    assert first is not None
    first.keep_alive = False

    second = reader.feed(REPEATED + b"abc")

    assert second is not None
    assert second.keep_alive


@pytest.mark.parametrize("cut", range(1, len(REPEATED) + 3))
def test_a_repeated_head_may_come_in_pieces(cut: int) -> None:
    reader = RequestReader(Limits())
    reader.feed(REPEATED + b"abc")
    message = REPEATED + b"def"

    assert reader.feed(message[:cut]) is None
    request = reader.feed(message[cut:])

    assert request is not None
    assert request.body == b"def"


def test_a_head_that_only_begins_like_the_last_is_read() -> None:
    reader = RequestReader(Limits())
    reader.feed(b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n")

    request = reader.feed(b"GET /x HTTP/1.1\r\nHost: a\r\nX-A: 1\r\n\r\n")

    assert request is not None
    assert request.one(b"x-a") == b"1"


def test_a_repeated_head_of_a_chunked_request_begins_a_chunked_body() -> None:
    reader = RequestReader(Limits())
    head = b"POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"

    bodies = [reader.feed(head + b"1\r\n%b\r\n0\r\n\r\n" % letter) for letter in (b"a", b"b", b"c")]

    assert [request.body if request else None for request in bodies] == [b"a", b"b", b"c"]
