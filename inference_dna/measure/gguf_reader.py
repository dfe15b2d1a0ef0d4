"""Reads the values at the head of a GGUF file one after another, within bounds."""

from __future__ import annotations

import struct
from typing import BinaryIO, cast

from inference_dna.canonical import Refused

MAGIC = b"GGUF"
FIXED = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""Forms of `struct` by the number of the type, for types of fixed size."""
MAX_HEAD_BYTES = 512 * 1000 * 1000
MOST_ITEMS = 2_000_000
"""Items of lists in one head that must be looked at one by one: a vocabulary with its merges has a million at most."""


class GgufReader:
    """Reads values one after another, never past the end of the file and never more than a head can be."""

    def __init__(self, stream: BinaryIO, name: str, size: int, order: str) -> None:
        self._stream, self.name, self._order = stream, name, order
        self._left = min(size - len(MAGIC), MAX_HEAD_BYTES)
        self._items_left = MOST_ITEMS
        self._forms = {form: struct.Struct(order + form) for form in {*FIXED.values()}}

    @property
    def place(self) -> int:
        """Where the next value begins."""
        return self._stream.tell()

    def number(self, form: str) -> int:
        """One whole number."""
        return cast("int", self.value(form))

    def value(self, form: str) -> bool | int | float:
        """One value of a form of `struct`."""
        shape = self._forms[form]
        return cast("int | float", shape.unpack(self.bytes(shape.size))[0])

    def text(self, most: int) -> str:
        """One text, length first."""
        length = self.number("Q")
        if length > most:
            raise Refused(f"A text in the head of {self.name!a} claims {length} bytes; it may be damaged.")
        try:
            return self.bytes(length).decode()
        except UnicodeDecodeError as error:
            raise Refused(f"A text in the head of {self.name!a} is not UTF-8.") from error

    def bytes(self, count: int) -> bytes:
        """So many bytes."""
        self._left -= count
        content = self._stream.read(count) if self._left >= 0 else b""
        if len(content) != count:
            raise Refused(f"The head of {self.name!a} does not end inside the file; it may be truncated.")
        return content

    def announce(self, items: int) -> None:
        """Note that a list has so many items of different lengths; empty ones cost a file nothing and us time."""
        self._items_left -= items
        if self._items_left < 0:
            raise Refused(f"The head of {self.name!a} announces more than {MOST_ITEMS} items; it may be damaged.")

    def skip(self, count: int) -> None:
        """Leave out so many bytes."""
        self._left -= count
        if self._left < 0:
            raise Refused(f"The head of {self.name!a} does not end inside the file; it may be truncated.")
        self._stream.seek(count, 1)


def open_head(stream: BinaryIO, name: str, size: int) -> GgufReader:
    """Begin to read a file behind its magic, in its own byte order.

    Raises:
        Refused: It does not begin with the magic.
    """
    if stream.read(len(MAGIC)) != MAGIC:
        raise Refused(f"The file {name!a} does not begin with GGUF.")
    version = stream.read(4)
    stream.seek(len(MAGIC))
    # A small number read in the wrong byte order is large: that is how a big-endian file shows.
    return GgufReader(stream, name, size, ">" if version[:2] == b"\0\0" else "<")
