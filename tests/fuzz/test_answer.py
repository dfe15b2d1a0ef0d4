"""Sound answers read the same in any segmentation; no part of one is ever complete."""

from __future__ import annotations

import random
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.answers import check_answers, check_connection, read

BODY = st.binary(max_size=60) | st.sampled_from(
    [b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", b"0\r\n\r\n", b"\r\n"]
)
INTERIM = st.sampled_from([b"", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 X\r\nLink: <a>\r\n\r\n"])


@dataclass(frozen=True)
class Sound:
    """An answer as it is written, and its body."""

    written: bytes
    body: bytes
    interim: bytes


@st.composite
def sound_answers(draw: st.DrawFn) -> Sound:
    status, body, interim = draw(st.integers(200, 599)), draw(BODY), draw(INTERIM)
    if status in (204, 304):
        body = b""
    lines = draw(st.sampled_from([b"", b"X: y\r\n", b"Keep-Alive: timeout=5\r\nX:\r\n"]))
    if draw(st.booleans()):
        framing, coded = b"Content-Length: %d\r\n" % len(body), body
    elif status in (204, 304):
        framing, coded = b"", b""
    else:
        framing, coded = b"Transfer-Encoding: chunked\r\n", _in_chunks(draw, body)
    written = interim + b"HTTP/1.1 %d X\r\n" % status + lines + framing + b"\r\n" + coded
    return Sound(written, body, interim)


def _in_chunks(draw: st.DrawFn, body: bytes) -> bytes:
    out, at = b"", 0
    while at < len(body):
        size = draw(st.integers(1, len(body) - at))
        out += b"%x\r\n%b\r\n" % (size, body[at : at + size])
        at += size
    return out + b"0\r\n" + draw(st.sampled_from([b"", b"X-Inference-DNA: evil\r\n"])) + b"\r\n"


@given(sound_answers(), st.integers(0, 2**32))
def test_a_sound_answer_is_read_in_any_segmentation(answer: Sound, seed: int) -> None:
    check_answers(answer.written, random.Random(seed))

    outcome = read([answer.written], head_only=False)
    assert outcome.complete
    assert outcome.body == answer.body


@given(sound_answers(), st.data())
def test_no_part_of_an_answer_is_complete(answer: Sound, data: st.DataObject) -> None:
    size = data.draw(st.integers(0, len(answer.written) - 1))
    outcome = read([answer.written[:size]], head_only=False)

    assert not outcome.complete
    assert outcome.failure is None
    assert answer.body.startswith(outcome.body)


@given(st.lists(sound_answers(), min_size=2, max_size=5), st.integers(0, 2**32))
def test_answers_on_one_connection_do_not_mix(answers: list[Sound], seed: int) -> None:
    check_connection([answer.written for answer in answers], random.Random(seed))


@given(sound_answers(), st.binary(max_size=8), st.data())
def test_damage_never_crashes(answer: Sound, damage: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(answer.written)))
    to = data.draw(st.integers(at, min(len(answer.written), at + 8)))

    check_answers(answer.written[:at] + damage + answer.written[to:], random.Random(at))


@given(st.binary(max_size=200))
def test_any_bytes_at_all(data: bytes) -> None:
    check_answers(data, random.Random(len(data)))
