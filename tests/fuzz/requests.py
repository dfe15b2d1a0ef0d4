"""What must hold of any bytes a client may send."""

from __future__ import annotations

import contextlib
import random
from dataclasses import dataclass

import httptools

from gateway.proxy.problem import Refused
from gateway.proxy.target import parse_target
from tests.support.http_cases import http_cases
from tests.support.reading import Read, read_all

PLAIN = b"GET /b HTTP/1.1\r\nHost: a\r\n\r\n"
REQUESTS = [
    PLAIN,
    b"POST /v2.4.0/generate?x HTTP/1.1\r\nHost: a:80\r\nX-Model-Preference: ^2\r\nContent-Length: 5\r\n\r\nhello"
    + PLAIN,
    b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n1\r\n!\r\n0\r\nX: y\r\n\r\n"
    + PLAIN,
    b"POST / HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nabc" + PLAIN,
    b"POST / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 3\r\n\r\nabc" + PLAIN,
    b"\r\nPUT / HTTP/1.1\r\nHost: [::1]:8080\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc" + PLAIN,
    *(data for case in http_cases() if 0 < len(data := b"".join(case.segments)) < 5000),
]


def check_requests(data: bytes, dice: random.Random) -> None:
    """Read it whole, split at random and byte by byte: the same requests and refusals, and none that llhttp denies."""
    whole = read_all([data])
    assert read_all(split(data, dice)) == whole, "the reading depends on how the bytes were split"
    if len(data) < 2000:
        assert read_all([data[at : at + 1] for at in range(len(data))]) == whole, "byte by byte it reads differently"
    check_against_llhttp(data, [read for read in whole if read.status == 200])
    for read in whole:
        if read.status == 200:
            check_target(read.target)


def split(data: bytes, dice: random.Random) -> list[bytes]:
    cuts = sorted(dice.randrange(len(data) + 1) for _ in range(dice.choice((1, 2, 5, 20))))
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]


@dataclass
class Message:
    """One request as llhttp reads it."""

    method: bytes = b""
    target: bytes = b""
    body: bytes = b""
    complete: bool = False


class Llhttp:
    """The library's own reading, message by message."""

    def __init__(self, data: bytes) -> None:
        self.messages: list[Message] = []
        self._parser = httptools.HttpRequestParser(self)
        self._parser.set_dangerous_leniencies(lenient_data_after_close=True)
        with contextlib.suppress(httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        self.messages.append(Message())

    def on_url(self, url: bytes) -> None:
        self.messages[-1].target += url

    def on_headers_complete(self) -> None:
        self.messages[-1].method = self._parser.get_method()

    def on_body(self, body: bytes) -> None:
        self.messages[-1].body += body

    def on_message_complete(self) -> None:
        self.messages[-1].complete = True


def check_against_llhttp(data: bytes, accepted: list[Read]) -> None:
    """What we accept llhttp accepts, and frames the same; it gives up where a request offers an upgrade."""
    messages = Llhttp(data).messages
    for number, read in enumerate(accepted):
        if any(name == b"upgrade" for name, _ in read.headers):
            return
        message = messages[number]
        ours = (read.method.encode(), read.target, read.body)
        assert message.complete, f"llhttp does not complete request {number}"
        assert (message.method, message.target, message.body) == ours, f"llhttp reads request {number} differently"


def check_target(raw: bytes) -> None:
    """A target is refused, or goes on as a path without dot segments; nothing is added to it."""
    try:
        target = parse_target(raw, b"a")
    except Refused:
        return
    assert target.forward.startswith(b"/")
    assert b"#" not in target.forward
    assert b"%00" not in target.forward
    assert not {b".", b".."} & set(target.path.replace(b"%2e", b".").replace(b"%2E", b".").split(b"/"))
    assert target.forward == raw or target.selectors or not raw.startswith(b"/")
