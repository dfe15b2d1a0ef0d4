"""OpenAI's text completions: what is asked, and how the answer is written. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator

from worker.generation import Ended, Token
from worker.surface.idle import idle_at
from worker.surface.openai_answer import Stated
from worker.surface.openai_asking import OpenAIAsking

_KIND = "text_completion"


def _only_one(prompt: object) -> object:
    """Read a list of one text as the text."""
    return prompt[0] if isinstance(prompt, list) and len(prompt) == 1 else prompt


class CompletionAsking(OpenAIAsking):
    """Body of `POST /v1/completions`: one text to be continued."""

    prompt: Annotated[str, BeforeValidator(_only_one)]
    best_of: Annotated[object, idle_at(1)] = None
    echo: Annotated[object, idle_at(False)] = None
    logprobs: Annotated[object, idle_at()] = None
    suffix: Annotated[object, idle_at("")] = None


@dataclass(frozen=True, slots=True)
class CompletionWriter:
    """Writes `text_completion`, whole or piece by piece."""

    stated: Stated

    def opening(self) -> bytes:
        """Nothing comes before the first token."""
        return b""

    def piece(self, token: Token) -> bytes:
        """The chunk of a token."""
        return self.stated.chunk(_KIND, _choice(token.text))

    def closing(self, _text: str, ended: Ended) -> bytes:
        """The chunk that says why the answer ends, and the end of the stream."""
        return self.stated.chunk(_KIND, _choice("", ended.reason)) + self.stated.end(_KIND, ended)

    def whole(self, text: str, ended: Ended) -> dict[str, object]:
        """The answer as one object."""
        return self.stated.whole(_KIND, _choice(text, ended.reason), ended)


def _choice(text: str, reason: str | None = None) -> dict[str, object]:
    return {"index": 0, "text": text, "logprobs": None, "finish_reason": reason}
