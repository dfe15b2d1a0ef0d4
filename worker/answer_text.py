"""Turns tokens into text as they come: never half a character, and nothing that may be the start of a stop sequence."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Decode = Callable[[Sequence[int]], str]
_HALF = "\N{REPLACEMENT CHARACTER}"
"""What a decoder writes for bytes that are no whole character, or not yet."""


class AnswerText:
    """The text of one answer. It belongs to one request.

    Args:
        decode: Gives the text of a sequence of ids.
        stops: The answer ends before the first of these texts.
    """

    def __init__(self, decode: Decode, stops: Sequence[str]) -> None:
        self._decode, self._stops = decode, stops
        self._ids: list[int] = []
        # Decoders join tokens by what stands before them, so the last settled ones are decoded with the new ones.
        self._from, self._settled = 0, 0
        self._held = ""
        self.is_stopped = False

    def add(self, token: int) -> str:
        """Take the next token and give the text that is certain now."""
        self._ids.append(token)
        known, longer = self._window()
        if longer.endswith(_HALF):
            return ""
        self._from, self._settled = self._settled, len(self._ids)
        return self._scan(longer[len(known) :])

    def end(self) -> str:
        """Give what is still held back: nothing comes after it."""
        known, longer = self._window()
        rest = self._scan(longer[len(known) :])
        if self.is_stopped:
            return rest
        rest, self._held = rest + self._held, ""
        return rest

    def _window(self) -> tuple[str, str]:
        return self._decode(self._ids[self._from : self._settled]), self._decode(self._ids[self._from :])

    def _scan(self, fresh: str) -> str:
        text = self._held + fresh
        found = min((place for stop in self._stops if (place := text.find(stop)) >= 0), default=None)
        if found is not None:
            self.is_stopped, self._held = True, ""
            return text[:found]
        kept = len(text) - _unsure(text, self._stops)
        self._held = text[kept:]
        return text[:kept]


def _unsure(text: str, stops: Sequence[str]) -> int:
    """Count the characters at the end of a text that a stop sequence may begin with."""
    longest = max((len(stop) for stop in stops), default=1) - 1
    return next(
        (
            length
            for length in range(min(longest, len(text)), 0, -1)
            if any(len(stop) > length and stop.startswith(text[-length:]) for stop in stops)
        ),
        0,
    )
