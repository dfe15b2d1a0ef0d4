"""Names for requests that came without a well-formed id."""

from __future__ import annotations

from typing import Final

_BLOCK: Final = 4096
_LAST_THREE: Final = [f"{number:03x}" for number in range(_BLOCK)]


class RequestIds:
    """Counts requests: an id is unique in this process and, by what the process drew, beyond it.

    Args:
        process: Text drawn by the process.
        first: Number drawn by the process, from which it counts.
    """

    def __init__(self, process: str, first: int) -> None:
        self._process = process
        self._number = first
        self._begin_block()

    def new(self) -> str:
        """Give the next one: the process and 13 hex digits."""
        place = self._number % _BLOCK
        if not place:
            self._begin_block()
        self._number += 1
        return self._head + _LAST_THREE[place]

    def _begin_block(self) -> None:
        # Formatting a number costs a microsecond; all but the last three digits last for 4,096 requests.
        self._head = f"{self._process}{self._number // _BLOCK:010x}"
