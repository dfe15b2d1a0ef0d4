"""How a family of clients is given the answer of a language model: tokens in, documents and bytes out. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from worker.generation import Ended, Token

WriteWhole: TypeAlias = Callable[[str, Ended], dict[str, object]]
"""Writes the body of an answer that is no stream: all of its text, and how it ended."""


class StreamWriter(Protocol):
    """Writes an answer as server-sent events: `opening`, a `piece` per token that has text, `closing`."""

    def opening(self) -> bytes:
        """What comes before the first token; empty for nothing."""

    def piece(self, token: Token) -> bytes:
        """The event of a token."""

    def closing(self, text: str, ended: Ended) -> bytes:
        """The last events of an answer that is complete; `text` is all of it."""
