"""An answer on its way to a client: our framing, the worker's bytes, and cuts that look cut."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from gateway.health.liveness import ExchangeOutcome
from gateway.proxy.answer import AnswerReader
from gateway.proxy.answer_head import AnswerHead
from gateway.proxy.limits import Limits
from gateway.proxy.own import Known, OwnAnswer
from gateway.proxy.problem import Family
from gateway.proxy.relay import Relay
from gateway.proxy.request import Request
from tests.support.raw import parse_responses


@dataclass
class Client:
    """Takes what is written, one piece a write."""

    peer: str = "10.0.0.9"
    is_trusted: bool = False
    pieces: list[bytes] = field(default_factory=list)

    def write(self, data: bytes) -> None:
        self.pieces.append(data)

    def finished(self, *, keep_alive: bool) -> None:
        raise AssertionError("not the relay's to say")

    def cut(self, *, reset: bool) -> None:
        raise AssertionError("not the relay's to do")

    @property
    def written(self) -> bytes:
        return b"".join(self.pieces)


def head_of(answer: bytes, *, head_only: bool = False) -> AnswerHead:
    reader = AnswerReader(Limits(), head_only=head_only)
    reader.feed(answer + b"\r\n")
    assert reader.head is not None
    return reader.head


def relay_to(version: str = "1.1", method: str = "GET", *, keep_alive: bool = True) -> tuple[Relay, Client]:
    client = Client()
    return Relay(client, Request(method, b"/x", version, [], keep_alive), keep_alive=keep_alive), client


def begun(answer: bytes, version: str = "1.1", method: str = "GET", *, keep_alive: bool = True) -> tuple[Relay, Client]:
    relay, client = relay_to(version, method, keep_alive=keep_alive)
    relay.begin(head_of(answer, head_only=method == "HEAD"), b"x-request-id: r-1\r\n", date=b"now")
    return relay, client


OK = b"HTTP/1.1 200 Fine\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n"
EVENTS = CHUNKED + b"Content-Type: text/event-stream\r\n"


def test_the_head_leaves_with_the_first_bytes_and_is_ours() -> None:
    relay, client = begun(CHUNKED + b"X-A: 1\r\nConnection: x-b\r\nX-B: 2\r\nX-Request-Id: theirs\r\nServer: w\r\n")
    assert client.pieces == []

    relay.data(b"abc")
    relay.data(b"de")
    relay.data(b"f", complete=True)

    assert client.pieces == [
        b"HTTP/1.1 200 OK\r\nX-A: 1\r\nServer: w\r\ndate: now\r\ntransfer-encoding: chunked\r\n"
        b"x-request-id: r-1\r\n\r\n"
        b"3\r\nabc\r\n",
        b"2\r\nde\r\n",
        b"1\r\nf\r\n0\r\n\r\n",
    ]
    assert relay.bytes_out == 6


def test_a_head_alone_is_flushed() -> None:
    relay, client = begun(CHUNKED)
    relay.data(b"")

    assert client.written.endswith(b"\r\n\r\n")
    relay.data(b"", complete=True)
    assert client.pieces[1:] == [b"0\r\n\r\n"]


@pytest.mark.parametrize(
    ("answer", "version", "method", "framing", "keeps"),
    [
        pytest.param(OK + b"Content-Length: 003\r\n", "1.1", "GET", ["content-length: 3"], True, id="length"),
        pytest.param(OK + b"Content-Length: 3\r\n", "1.0", "GET", ["content-length: 3"], True, id="length-to-1.0"),
        pytest.param(CHUNKED, "1.1", "GET", ["transfer-encoding: chunked"], True, id="chunks"),
        pytest.param(CHUNKED, "1.0", "GET", [], False, id="chunks-to-1.0-end-with-the-connection"),
        pytest.param(OK + b"Content-Length: 3\r\n", "1.1", "HEAD", ["content-length: 3"], True, id="head"),
        pytest.param(CHUNKED, "1.1", "HEAD", [], True, id="head-of-chunks"),
        pytest.param(b"HTTP/1.1 204 X\r\nContent-Length: 3\r\n", "1.1", "GET", [], True, id="204-has-no-length"),
        pytest.param(
            b"HTTP/1.1 304 X\r\nContent-Length: 3\r\n", "1.1", "GET", ["content-length: 3"], True, id="304-may-have"
        ),
        pytest.param(b"HTTP/1.1 304 X\r\n", "1.1", "GET", [], True, id="304-need-not"),
    ],
)
def test_framing(answer: bytes, version: str, method: str, framing: list[str], keeps: bool) -> None:
    relay, client = begun(answer, version, method)
    relay.data(b"", complete=True)
    lines = client.written.partition(b"\r\n\r\n")[0].decode().split("\r\n")

    assert [line for line in lines if line.startswith(("content-length", "transfer-encoding"))] == framing
    assert relay.keep_alive is keeps


@pytest.mark.parametrize(
    ("version", "keep_alive", "lines"),
    [
        ("1.1", True, []),
        ("1.1", False, ["close"]),
        ("1.0", True, ["keep-alive"]),
        ("1.0", False, ["close"]),
    ],
)
def test_what_the_client_is_told_of_its_connection(version: str, keep_alive: bool, lines: list[str]) -> None:
    relay, client = begun(OK + b"Content-Length: 0\r\n", version, keep_alive=keep_alive)
    relay.data(b"", complete=True)

    assert parse_responses(client.written, closed=True)[0].headers("connection") == lines


@pytest.mark.parametrize(
    ("kind", "is_stream"),
    [
        (b"text/event-stream", True),
        (b"Text/Event-Stream; charset=utf-8", True),
        (b"application/json", False),
    ],
)
def test_event_streams_are_not_buffered_or_cached_on_their_way(kind: bytes, is_stream: bool) -> None:
    relay, client = begun(CHUNKED + b"Content-Type: " + kind + b"\r\n")
    relay.data(b"")
    (answer,) = parse_responses(client.written, closed=False)

    assert relay.is_stream is is_stream
    assert answer.headers("x-accel-buffering") == (["no"] if is_stream else [])
    assert answer.headers("cache-control") == (["no-cache"] if is_stream else [])


def test_a_workers_own_cache_control_and_date_stand() -> None:
    relay, client = begun(EVENTS + b"Cache-Control: no-store\r\nDate: then\r\n")
    relay.data(b"")
    (answer,) = parse_responses(client.written, closed=False)

    assert answer.headers("cache-control") == ["no-store"]
    assert answer.headers("date") == ["then"]


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (OK + b"Content-Length: 0\r\n", ExchangeOutcome.OK),
        (b"HTTP/1.1 500 X\r\nContent-Length: 0\r\n", ExchangeOutcome.IGNORED),
        (b"HTTP/1.1 502 X\r\nContent-Length: 0\r\n", ExchangeOutcome.FAILED),
        (b"HTTP/1.1 503 X\r\nContent-Length: 0\r\n", ExchangeOutcome.FAILED),
        (b"HTTP/1.1 503 X\r\nRetry-After: 1\r\nContent-Length: 0\r\n", ExchangeOutcome.IGNORED),
        (b"HTTP/1.1 429 X\r\nContent-Length: 0\r\n", ExchangeOutcome.IGNORED),
    ],
)
def test_what_an_answer_says_of_its_worker(answer: bytes, outcome: ExchangeOutcome) -> None:
    assert begun(answer)[0].outcome is outcome


CUT = {"code": "upstream_truncated", "detail": "cut", "family": Family.OPENAI, "path": b"/v1/chat/completions"}


@pytest.mark.parametrize(
    ("answer", "version", "sent", "ends_with", "reset"),
    [
        pytest.param(CHUNKED, "1.1", [b"abc"], b"3\r\nabc\r\n", False, id="chunks-have-no-last-one"),
        pytest.param(OK + b"Content-Length: 9\r\n", "1.1", [b"abc"], b"\r\n\r\nabc", False, id="length-is-short"),
        pytest.param(CHUNKED, "1.0", [b"abc"], b"\r\n\r\nabc", True, id="close-delimited-is-reset"),
        pytest.param(OK + b"Content-Length: 9\r\n", "1.0", [b"abc"], b"\r\n\r\nabc", True, id="length-to-1.0"),
        pytest.param(CHUNKED, "1.1", [], b"x-request-id: r-1\r\n\r\n", False, id="a-head-alone"),
        pytest.param(EVENTS, "1.1", [b"data: a"], b"7\r\ndata: a\r\n", False, id="inside-an-event"),
        pytest.param(EVENTS, "1.1", [b"data: a\n"], b"8\r\ndata: a\n\r\n", False, id="inside-an-event-after-a-line"),
        pytest.param(EVENTS + b"Content-Encoding: gzip\r\n", "1.1", [b"\n\n"], b"2\r\n\n\n\r\n", False, id="encoded"),
    ],
)
def test_a_cut_answer_looks_cut(answer: bytes, version: str, sent: list[bytes], ends_with: bytes, reset: bool) -> None:
    relay, client = begun(answer, version)
    for piece in sent:
        relay.data(piece)

    assert relay.cut(**CUT) is reset  # type: ignore[arg-type]
    assert client.written.endswith(ends_with)
    assert b"0\r\n\r\n" not in client.written


@pytest.mark.parametrize(
    "sent",
    [
        [],
        [b"data: a\n\n"],
        [b"data: a\r\n\r\n"],
        [b"data: a\r\r"],
        [b"data: a\n\r\n"],
        [b"data: a\n", b"\n"],
        [b"data: a", b"\r\n", b"\r\n"],
    ],
)
def test_a_stream_cut_between_events_gets_one_error_event(sent: list[bytes]) -> None:
    relay, client = begun(EVENTS)
    for piece in sent:
        relay.data(piece)

    assert relay.cut(**CUT) is False  # type: ignore[arg-type]
    assert (
        b'data: {"error":{"message":"cut","type":"upstream_error","param":null,"code":"upstream_truncated"}}\n\n'
        in (client.written)
    )
    assert not client.written.endswith(b"0\r\n\r\n")


@pytest.mark.parametrize(
    ("family", "path", "event"),
    [
        (Family.OPEN_INFERENCE, b"/v2/models/m/generate_stream", b'data: {"error":"upstream_truncated: cut"}\n\n'),
        (
            Family.PLAIN,
            b"/generate_stream",
            b'data: {"error":"upstream_truncated: cut","error_type":"upstream_error"}\n\n',
        ),
        (Family.PLAIN, b"/x", b'event: error\ndata: {"type":"urn:inference-gateway:upstream_truncated"'),
    ],
)
def test_error_events_are_shaped_for_their_api(family: Family, path: bytes, event: bytes) -> None:
    relay, client = begun(EVENTS)
    relay.cut(code="upstream_truncated", detail="cut", family=family, path=path)

    assert event in client.written


@pytest.mark.parametrize(("method", "body"), [("GET", b"{}"), ("HEAD", b"")])
def test_an_answer_of_ours_is_written_whole(method: str, body: bytes) -> None:
    relay, client = relay_to(method=method)
    relay.own(OwnAnswer(404, b"x-request-id: r-1\r\n", b"{}", Known("r-1", 1)), date=b"now")

    assert client.pieces == [
        b"HTTP/1.1 404 Not Found\r\ndate: now\r\ncontent-length: 2\r\nx-request-id: r-1\r\n\r\n" + body
    ]
    assert relay.status == 404
