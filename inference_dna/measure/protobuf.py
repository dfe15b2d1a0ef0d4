"""Reads the wire format of Protocol Buffers field by field, strictly, without a schema and without loading the message.

Enough to find a few fields in a graph of gigabytes: what is not asked for is skipped by seeking. Source: the encoding
page of the Protocol Buffers documentation. Groups (wire types 3 and 4), which ONNX never uses, are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from inference_dna.canonical import Refused

_LONGEST_VARINT = 10
_MAX_TEXT_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its number, whether it is a piece of bytes, where its content lies, and a varint's value."""

    number: int
    is_bytes: bool
    start: int
    end: int
    value: int


class Message:
    """One message inside a file: a range of its bytes. Reading fields moves the stream, so each is given its place."""

    def __init__(self, stream: BinaryIO, name: str, start: int, end: int) -> None:
        self._stream, self._name, self._start, self._end = stream, name, start, end

    def fields(self) -> Iterator[Field]:
        """Go through the fields in their order.

        Raises:
            Refused: The bytes are no message.
        """
        place = self._start
        while place < self._end:
            tag, place = self._varint(place)
            field = self._field(tag >> 3, tag & 7, place)
            yield field
            place = field.end

    def below(self, field: Field) -> Message:
        """The message that a field of bytes holds.

        Raises:
            Refused: The field is a number.
        """
        if not field.is_bytes:
            raise Refused(f"The file {self._name!a} is no protobuf message: field {field.number} holds no message.")
        return Message(self._stream, self._name, field.start, field.end)

    def text(self, field: Field) -> str:
        """The text that a field of bytes holds.

        Raises:
            Refused: The field is a number, longer than 64 KiB, or not UTF-8.
        """
        if not field.is_bytes or field.end - field.start > _MAX_TEXT_BYTES:
            raise Refused(f"The file {self._name!a} is no protobuf message: field {field.number} holds no text.")
        self._stream.seek(field.start)
        try:
            return self._stream.read(field.end - field.start).decode()
        except UnicodeDecodeError as error:
            raise Refused(f"A text in {self._name!a} is not UTF-8.") from error

    def _field(self, number: int, wire_type: int, place: int) -> Field:
        if number == 0:
            raise self._fault(place)
        match wire_type:
            case 0:  # a number
                value, end = self._varint(place)
                return Field(number, False, place, end, value)
            case 2:  # bytes: a text, a message, packed numbers
                length, place = self._varint(place)
                return self._within(Field(number, True, place, place + length, 0))
            case 1:
                return self._within(Field(number, False, place, place + 8, 0))
            case 5:
                return self._within(Field(number, False, place, place + 4, 0))
            case _:
                raise self._fault(place)

    def _within(self, field: Field) -> Field:
        if field.end > self._end:
            raise self._fault(field.start)
        return field

    def _varint(self, place: int) -> tuple[int, int]:
        self._stream.seek(place)
        value = 0
        for count, byte in enumerate(self._stream.read(min(_LONGEST_VARINT, self._end - place))):
            value |= (byte & 0x7F) << (7 * count)
            if byte < 0x80:
                return value, place + count + 1
        raise self._fault(place)

    def _fault(self, place: int) -> Refused:
        return Refused(f"The file {self._name!a} is no protobuf message at byte {place}; it may be truncated.")
