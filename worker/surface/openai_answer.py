"""What OpenAI's answers have in common. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from worker.generation import Ended
from worker.surface.events import event

_FINGERPRINT_HEX = 12
_DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True)
class Stated:
    """What every part of one answer states.

    `created` is seconds since 1970, `digest` the runtime digest as bare hex: who gets another `system_fingerprint` was
    answered by another runtime, which is what OpenAI's field is for.
    """

    id: str
    created: int
    model: str
    digest: str
    include_usage: bool

    def whole(self, kind: str, choice: Mapping[str, object], ended: Ended) -> dict[str, object]:
        """Write an answer as one object; `kind` is its member `object`."""
        return {**self._head(kind), "choices": [choice], "usage": _usage(ended)}

    def chunk(self, kind: str, choice: Mapping[str, object]) -> bytes:
        """Write the event of one piece."""
        counted = {"usage": None} if self.include_usage else {}
        return event({**self._head(kind), "choices": [choice], **counted})

    def end(self, kind: str, ended: Ended) -> bytes:
        """Write what follows the last piece: what was counted where that was asked, and the mark of a whole answer."""
        if not self.include_usage:
            return _DONE
        return event({**self._head(kind), "choices": [], "usage": _usage(ended)}) + _DONE

    def _head(self, kind: str) -> dict[str, object]:
        return {
            "id": self.id,
            "object": kind,
            "created": self.created,
            "model": self.model,
            "system_fingerprint": f"fp_{self.digest[:_FINGERPRINT_HEX]}",
        }


def _usage(ended: Ended) -> dict[str, int]:
    return {
        "prompt_tokens": ended.prompt_tokens,
        "completion_tokens": ended.completion_tokens,
        "total_tokens": ended.prompt_tokens + ended.completion_tokens,
    }
