"""Sound requests read the same in any segmentation; damaged ones are refused, and never crash or cross."""

from __future__ import annotations

import random
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.requests import check_requests
from tests.support.reading import Read, read_all

TOKEN = st.text("abcXYZ-0189!~", min_size=1, max_size=12)
VALUE = st.text(st.characters(min_codepoint=0x21, max_codepoint=0xFF, exclude_characters="\x7f"), max_size=20).filter(
    lambda text: all(0x21 <= ord(mark) <= 0x7E or ord(mark) >= 0x80 for mark in text)
)
TARGET = st.text("abc/%2F?=&.~-", max_size=30).map(lambda text: "/" + text)
BODY = st.binary(max_size=60) | st.sampled_from(
    [b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n", b"0\r\n\r\n", b"\r\n", b"\0" * 20]
)
GOVERNING = {"host", "content-length", "transfer-encoding", "connection", "expect", "upgrade", "keep-alive"}


@dataclass(frozen=True)
class Sound:
    """A request as it is written, and as it must be read."""

    written: bytes
    read: Read


@st.composite
def sound_requests(draw: st.DrawFn) -> Sound:
    method = draw(st.sampled_from(["GET", "POST", "PUT", "DELETE", "OPTIONS"]))
    target = draw(TARGET).encode()
    names = st.lists(st.tuples(TOKEN, VALUE), max_size=5)
    extra = [(name, value) for name, value in draw(names) if name.lower() not in GOVERNING]
    lines = [(b"Host", b"a"), *((name.encode(), value.encode("latin-1")) for name, value in extra)]
    body = draw(BODY)
    framing = (
        draw(st.sampled_from(["length", "chunks"])) if body else draw(st.sampled_from(["none", "length", "chunks"]))
    )
    if framing == "length":
        lines.append((b"Content-Length", b"%d" % len(body)))
    elif framing == "chunks":
        lines.append((b"Transfer-Encoding", b"chunked"))
    head = b"%b %b HTTP/1.1\r\n" % (method.encode(), target)
    head += b"".join(b"%b: %b\r\n" % line for line in lines) + b"\r\n"
    written = head + (in_chunks(draw, body) if framing == "chunks" else body)
    headers = tuple((name.lower(), value) for name, value in lines)
    return Sound(written, Read(200, method, target, headers, body, keep_alive=True))


def in_chunks(draw: st.DrawFn, body: bytes) -> bytes:
    out, at = b"", 0
    while at < len(body):
        size = draw(st.integers(1, len(body) - at))
        extension = draw(st.sampled_from([b"", b";a", b';a="b;\\"c"']))
        out += b"%x%b\r\n%b\r\n" % (size, extension, body[at : at + size])
        at += size
    return out + b"0\r\n" + draw(st.sampled_from([b"", b"X-Trailer: 1\r\n"])) + b"\r\n"


@st.composite
def segmented(draw: st.DrawFn, data: bytes) -> list[bytes]:
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=8)))
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]


@given(st.lists(sound_requests(), min_size=1, max_size=4), st.data())
def test_any_segmentation_gives_the_same_requests(requests: list[Sound], data: st.DataObject) -> None:
    written = b"".join(request.written for request in requests)

    assert read_all(data.draw(segmented(written))) == [request.read for request in requests]


@given(sound_requests(), st.data())
def test_no_beginning_of_a_request_is_a_request(request: Sound, data: st.DataObject) -> None:
    size = data.draw(st.integers(0, len(request.written) - 1))

    assert read_all([request.written[:size]]) == []


@given(st.lists(sound_requests(), min_size=1, max_size=3), st.binary(max_size=8), st.data())
def test_damage_is_refused_and_harms_nothing_before_it(
    requests: list[Sound], damage: bytes, data: st.DataObject
) -> None:
    written = b"".join(request.written for request in requests)
    at = data.draw(st.integers(0, len(written)))
    to = data.draw(st.integers(at, min(len(written), at + 8)))
    damaged = written[:at] + damage + written[to:]

    check_requests(damaged, random.Random(at))
    intact, end = 0, 0
    for request in requests:
        end += len(request.written)
        intact += end <= at
    assert read_all([damaged])[:intact] == [request.read for request in requests[:intact]]


@given(st.binary(max_size=200))
def test_any_bytes_at_all(data: bytes) -> None:
    check_requests(data, random.Random(len(data)))
