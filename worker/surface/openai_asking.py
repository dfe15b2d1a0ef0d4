"""What OpenAI's documents have in common: how a client asks, and by which names it calls our settings. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator

from worker.asking import Asking, listed
from worker.fault import FieldFault, RequestRefused
from worker.surface.idle import idle_at


class StreamOptions(Asking):
    """How a stream is to be."""

    include_usage: bool = False
    include_obfuscation: Annotated[object, idle_at(False)] = None


class OpenAIAsking(Asking):
    """Parameters of both kinds of completions. Two are ours: `top_k` and `repetition_penalty`."""

    model: str
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: Literal[1] | None = None
    user: str | None = None
    """Says who asks, and changes nothing."""
    metadata: Mapping[str, str] | None = None
    """Says what the client files it under, and changes nothing."""
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    repetition_penalty: float | None = None
    seed: int | None = None
    stop: Annotated[tuple[str, ...] | None, BeforeValidator(listed)] = None
    frequency_penalty: Annotated[object, idle_at(0)] = None
    presence_penalty: Annotated[object, idle_at(0)] = None
    logit_bias: Annotated[object, idle_at({})] = None

    @property
    def include_usage(self) -> bool:
        """Whether a stream ends with what was counted."""
        return self.stream_options is not None and self.stream_options.include_usage

    def settings(self) -> dict[str, object]:
        """What is asked of the generation, by the names of `Settings`."""
        return {
            "max_new_tokens": self.max_tokens,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "top_k": self.top_k,
            "repetition_penalty": self.repetition_penalty,
            "seed": self.seed,
            "stop": self.stop,
        }

    def called(self) -> Mapping[str, str]:
        """What the client calls a setting that has another name."""
        return {"max_new_tokens": "max_tokens"}

    def check(self) -> None:
        """Check what one field says of another.

        Raises:
            RequestRefused: Two fields do not go together.
        """
        if self.stream_options is not None and not self.stream:
            raise RequestRefused([FieldFault("stream_options", "is only for streams; say `stream: true`")])
