from __future__ import annotations

import io

import pytest

from inference_dna.canonical import Refused
from inference_dna.measure.protobuf import Message


def message(content: bytes) -> Message:
    return Message(io.BytesIO(content), "m.onnx", 0, len(content))


def test_fields_are_given_in_their_order() -> None:
    content = b"\x08\x96\x01" + b"\x12\x03abc" + b"\x19" + bytes(8) + b"\x25" + bytes(4) + b"\xa2\x01\x00"
    read = message(content)
    fields = list(read.fields())

    assert [(field.number, field.is_bytes, field.value) for field in fields] == [
        (1, False, 150), (2, True, 0), (3, False, 0), (4, False, 0), (20, True, 0),
    ]  # fmt: skip
    assert read.text(fields[1]) == "abc"


def test_a_message_below_ends_where_its_field_ends() -> None:
    read = message(b"\x0a\x02\x08\x05" + b"\x10\x07")
    below = read.below(next(read.fields()))

    assert [(field.number, field.value) for field in below.fields()] == [(1, 5)]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"\x00\x00", id="field-0"),
        pytest.param(b"\x0b", id="a-group"),
        pytest.param(b"\x0f", id="wire-type-7"),
        pytest.param(b"\x12\x05abc", id="shorter-than-it-says"),
        pytest.param(b"\x19\x00", id="half-a-number"),
        pytest.param(b"\x08\xff", id="a-number-that-does-not-end"),
        pytest.param(b"\x08" + b"\xff" * 20, id="a-number-too-long"),
        pytest.param(b"\x12", id="no-length"),
    ],
)
def test_what_is_no_message(content: bytes) -> None:
    with pytest.raises(Refused, match="is no protobuf message at byte"):
        list(message(content).fields())


@pytest.mark.parametrize(
    ("content", "why"),
    [
        pytest.param(b"\x08\x05", "holds no text", id="a-number"),
        pytest.param(b"\x0a\x01\xff", "not UTF-8", id="not-utf8"),
        pytest.param(b"\x0a\x80\x80\x08" + bytes(2**17), "holds no text", id="too-long"),
    ],
)
def test_what_is_no_text(content: bytes, why: str) -> None:
    read = message(content)

    with pytest.raises(Refused, match=why):
        read.text(next(read.fields()))


def test_a_number_holds_no_message() -> None:
    read = message(b"\x08\x05")

    with pytest.raises(Refused, match="holds no message"):
        read.below(next(read.fields()))
