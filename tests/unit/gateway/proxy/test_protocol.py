"""One client connection on a transport that stands still, ends or comes back as the story wants."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from itertools import pairwise

import pytest

from tests.support.data_plane import Gateway
from tests.support.raw import request

LIVEZ = request("GET", "/livez")


def test_requests_on_one_connection_are_answered_in_order() -> None:
    gateway = Gateway()
    protocol, wire = gateway.connect()

    protocol.data_received(LIVEZ + request("GET", "/v2") + request("GET", "/nowhere", "X-Model-Id: nobody"))

    assert [response.status for response in wire.responses] == [200, 200, 404]
    assert not wire.is_closing()
    assert [record.status for record in gateway.heard.records] == [200, 200, 404]


def test_a_long_pipeline_lets_others_have_their_turn() -> None:
    async def story() -> None:
        gateway = Gateway()
        protocol, wire = gateway.connect()

        protocol.data_received(LIVEZ * 100)
        at_once = len(wire.responses)
        await asyncio.sleep(0)
        later = len(wire.responses)
        for _ in range(5):
            await asyncio.sleep(0)

        assert 0 < at_once < later < 100
        assert len(wire.responses) == 100

    asyncio.run(story())


def test_a_pipeline_ends_with_its_connection() -> None:
    async def story() -> None:
        gateway = Gateway()
        protocol, wire = gateway.connect()
        protocol.data_received(LIVEZ * 100)
        answered = len(wire.responses)

        protocol.connection_lost(None)
        for _ in range(5):
            await asyncio.sleep(0)

        assert len(wire.responses) == answered

    asyncio.run(story())


# slow and silent clients ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "seconds"),
    [
        pytest.param(b"", 10.0, id="silent"),
        pytest.param(b"GET / HT", 10.0, id="half-a-head"),
        pytest.param(LIVEZ + b"GET / HT", 10.0, id="half-a-later-head"),
        pytest.param(LIVEZ, 75.0, id="idle"),
    ],
)
def test_who_sends_no_request_is_closed_without_an_answer(sent: bytes, seconds: float) -> None:
    gateway = Gateway()
    protocol, wire = gateway.connect()
    if sent:
        protocol.data_received(sent)
    answered = len(wire.responses)

    gateway.wait(seconds)
    assert not wire.is_closing()
    gateway.wait(1.0)
    assert wire.is_closing()
    assert len(wire.responses) == answered


def test_a_trickled_head_has_no_more_time_than_a_silent_one() -> None:
    gateway = Gateway()
    protocol, wire = gateway.connect()

    for byte in b"GET / HTTP/1.1\r\nHo":
        protocol.data_received(bytes((byte,)))
        gateway.wait(1.0)

    assert wire.is_aborted


@pytest.mark.parametrize(
    ("every_s", "piece", "seconds"),
    [
        pytest.param(31.0, b"x", 31.0, id="silent-in-the-body"),
        pytest.param(1.0, b"x", 12.0, id="below-a-kibibyte-a-second"),
    ],
)
def test_half_a_body_is_400_and_close(every_s: float, piece: bytes, seconds: float) -> None:
    gateway = Gateway()
    protocol, wire = gateway.connect()
    protocol.data_received(b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\n")

    for _ in range(int(seconds / every_s)):
        gateway.wait(every_s)
        if not wire.written:
            protocol.data_received(piece)

    (answer,) = wire.responses
    assert answer.status == 400
    assert answer.header("connection") == "close"
    assert wire.is_half_closed


def test_a_client_that_takes_nothing_of_a_finished_answer_is_cut() -> None:
    gateway = Gateway()
    protocol, wire = gateway.connect()
    protocol.data_received(LIVEZ)
    wire.unsent = 50_000

    gateway.wait(29.0)
    assert not wire.is_closing()
    gateway.wait(3.0)
    assert wire.is_aborted


def test_a_client_that_takes_a_little_now_and_then_is_only_slow() -> None:
    gateway = Gateway()
    protocol, wire = gateway.connect()
    protocol.data_received(request("GET", "/livez", close=True))
    wire.unsent = 50_000

    for _ in range(10):
        gateway.wait(20.0)
        wire.unsent -= 1000
    assert not wire.is_closing()

    wire.unsent = 0
    gateway.wait(1.0)
    assert not wire.is_closing()
    gateway.wait(3.0)
    assert wire.is_aborted


def test_nothing_more_begins_while_the_client_takes_nothing() -> None:
    gateway = Gateway()
    protocol, wire = gateway.connect()
    protocol.data_received(LIVEZ)
    protocol.pause_writing()

    protocol.data_received(LIVEZ + LIVEZ)
    assert len(wire.responses) == 1

    protocol.resume_writing()
    assert len(wire.responses) == 3


def test_a_pipelined_request_waits_until_the_answer_before_it_was_taken() -> None:
    gateway = Gateway()
    protocol, wire = gateway.connect()
    wire.after_write = protocol.pause_writing

    protocol.data_received(LIVEZ * 3)
    assert len(wire.responses) == 1
    protocol.resume_writing()
    assert len(wire.responses) == 2


def test_what_piles_up_behind_a_full_buffer_is_bounded() -> None:
    gateway = Gateway()
    protocol, wire = gateway.connect()
    protocol.data_received(LIVEZ)
    protocol.pause_writing()

    for _ in range(3):
        protocol.data_received(b"x" * 30_000)

    assert wire.is_paused


def test_a_connection_that_closes_begins_nothing_when_its_buffer_drains() -> None:
    gateway = Gateway()
    protocol, wire = gateway.connect()
    protocol.data_received(LIVEZ)
    protocol.pause_writing()
    protocol.data_received(LIVEZ)
    wire.close()

    protocol.resume_writing()

    assert len(wire.responses) == 1


# the end of a connection ----------------------------------------------------------------------------------------------


def test_after_a_refusal_nothing_is_read_as_a_request() -> None:
    gateway = Gateway()
    protocol, wire = gateway.connect()

    protocol.data_received(b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n")
    protocol.data_received(LIVEZ)

    assert [response.status for response in wire.responses] == [413]
    assert wire.is_half_closed
    assert not wire.is_closing()
    gateway.wait(3.0)
    assert wire.is_aborted


def test_who_goes_on_sending_after_a_refusal_is_cut_after_a_while() -> None:
    gateway = Gateway()
    protocol, wire = gateway.connect()
    protocol.data_received(b"\0\r\n\r\n")

    for _ in range(9):
        protocol.data_received(b"x" * 30_000)

    assert [response.status for response in wire.responses] == [400]
    assert wire.is_aborted


@pytest.mark.parametrize(
    ("sent", "method", "path", "body"),
    [
        pytest.param(b"HEAD /x?y HTTP/1.1\r\n\r\n", "HEAD", "/x", False, id="head"),
        pytest.param(b"GET /x?y HTTP/1.1\r\n\r\n", "GET", "/x", True, id="get"),
        pytest.param(b"CONNECT a:1 HTTP/1.1\r\n", "CONNECT", "a:1", True, id="connect"),
        pytest.param(b"\0\r\n", "-", "", True, id="nothing-that-could-be-read"),
    ],
)
def test_a_refusal_says_what_it_could_read(sent: bytes, method: str, path: str, body: bool) -> None:
    gateway = Gateway()
    protocol, wire = gateway.connect()

    protocol.data_received(sent)

    (record,) = gateway.heard.records
    assert (record.method, record.path) == (method, path)
    assert bool(wire.written.partition(b"\r\n\r\n")[2]) is body


def test_a_connection_that_grew_old_is_closed_with_its_next_answer() -> None:
    gateway = Gateway(client_keepalive_s=10_000.0)
    protocol, wire = gateway.connect()
    protocol.data_received(LIVEZ)
    gateway.wait(901.0)

    protocol.data_received(LIVEZ)

    assert [response.header("connection") for response in wire.responses] == [None, "close"]
    assert wire.is_half_closed


def test_while_draining_every_answer_closes() -> None:
    gateway = Gateway()
    protocol, wire = gateway.connect()
    gateway.plane.draining = True

    protocol.data_received(LIVEZ)

    assert wire.responses[0].header("connection") == "close"
    assert wire.is_half_closed


def test_thousands_of_connections_are_looked_at_in_parts_so_that_requests_get_by() -> None:
    gateway = Gateway(max_connections=1000)
    wires = [gateway.connect()[1] for _ in range(1000)]
    gateway.now += 100.0

    def cut() -> int:
        return sum(wire.is_closing() for wire in wires)

    counts = [0, *(cut() for _ in gateway.plane.sweep()), cut()]

    assert counts[-1] == 1000
    assert max(after - before for before, after in pairwise(counts)) <= 300


def test_a_connection_that_ends_while_others_are_looked_at_is_left_alone() -> None:
    gateway = Gateway(max_connections=600)
    lines = [gateway.connect() for _ in range(600)]
    gateway.now += 100.0

    sweep = gateway.plane.sweep()
    next(sweep)
    ended = [(protocol, wire) for protocol, wire in lines if not wire.is_closing()]
    for protocol, _ in ended:
        protocol.connection_lost(None)
    list(sweep)

    assert ended
    assert not any(wire.is_closing() for _, wire in ended)


def test_too_many_connections_are_not_answered() -> None:
    gateway = Gateway()
    wires = [gateway.connect()[1] for _ in range(4)]

    assert [wire.is_aborted for wire in wires] == [False, False, False, True]
    assert gateway.metrics.process.refused == {("connections",): 1}


# bodies ---------------------------------------------------------------------------------------------------------------


def test_bodies_of_all_connections_together_are_bounded() -> None:
    gateway = Gateway()
    head = b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n"
    (first, one), (second, two) = gateway.connect(), gateway.connect()

    first.data_received(head + b"x" * 900)
    assert gateway.plane.buffered == 900
    second.data_received(head + b"x" * 700)

    assert one.responses == []
    assert [(answer.status, answer.header("retry-after")) for answer in two.responses] == [(429, "1")]
    assert gateway.plane.buffered == 900

    first.connection_lost(None)
    second.connection_lost(None)
    assert gateway.plane.buffered == 0
    assert gateway.metrics.process.client_disconnects["body",] == 2
    assert gateway.plane.connections == set()
    assert gateway.server.connections == set()


@pytest.mark.parametrize(
    ("lines", "written"),
    [
        pytest.param({"X-Model-Id": "bert-base-chinese"}, [100], id="it-may-yet-be-served"),
        pytest.param({"X-Model-Id": "nobody"}, [404], id="no-such-model"),
        pytest.param({"X-Model-Preference": "not a version"}, [400], id="no-such-selector"),
        pytest.param({"X-Model-Preference": "v9.9.9"}, [404], id="no-such-version"),
    ],
)
def test_a_client_that_asks_first_is_told_first(lines: Mapping[str, str], written: list[int]) -> None:
    gateway = Gateway()
    protocol, wire = gateway.connect()
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())

    protocol.data_received(
        f"POST /x HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n{head}\r\n".encode()
    )
    protocol.data_received(b"{")

    assert [response.status for response in wire.responses] == written


def test_who_sends_its_body_at_once_is_not_told_to_continue() -> None:
    gateway = Gateway()
    protocol, wire = gateway.connect()

    protocol.data_received(b"POST /x HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{")

    assert wire.written == b""


def test_one_address_cannot_take_all_connections() -> None:
    gateway = Gateway(max_connections_per_address=2)
    connections = [gateway.connect() for _ in range(3)]

    assert [wire.is_aborted for _, wire in connections] == [False, False, True]
    assert gateway.metrics.process.refused == {("connections",): 1}
    for protocol, _ in connections:
        protocol.connection_lost(None)
    assert not gateway.connect()[1].is_aborted
