"""The text by which two states of one place are compared: a part that people read, and a part that only differs."""

from __future__ import annotations

_BORDER = "\0"


class State(str):
    """A digest of something that nobody can read, such as the state of a generator of chance."""

    __slots__ = ()


def told(shown: str, hidden: object) -> str:
    """Put both parts together."""
    return f"{shown}{_BORDER}{hidden}"


def change(was: str, now: str) -> str:
    """Say in words how two texts of one place differ."""
    shown, is_shown = was.partition(_BORDER)[0], now.partition(_BORDER)[0]
    if shown == is_shown:
        return f"was replaced or written to ({shown})"
    return f"was {shown} and is {is_shown}"
