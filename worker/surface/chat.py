"""OpenAI's chat completions: what is asked, and how the answer is written. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator

from worker.asking import Asking
from worker.backend import Message
from worker.fault import FieldFault, RequestRefused
from worker.generation import Ended, Token
from worker.surface.idle import idle_at
from worker.surface.openai_answer import Stated
from worker.surface.openai_asking import OpenAIAsking

_CHUNK = "chat.completion.chunk"


def _not_empty(messages: tuple[ChatMessage, ...]) -> tuple[ChatMessage, ...]:
    if not messages:
        raise ValueError("must hold at least one message")
    return messages


def _joined(content: object) -> object:
    """Read content that came in parts, all of them text, as the one text it is."""
    if not isinstance(content, Sequence) or isinstance(content, str) or not all(map(_is_text_part, content)):
        return content
    return "".join([part["text"] for part in content])


def _is_text_part(part: object) -> bool:
    return (
        isinstance(part, Mapping)
        and part.keys() == {"type", "text"}
        and part["type"] == "text"
        and isinstance(part["text"], str)
    )


class ChatMessage(Asking):
    """One message of the conversation. An answer may be sent back as it came, with members that say nothing."""

    role: Literal["system", "developer", "user", "assistant"]
    content: Annotated[str, BeforeValidator(_joined)]
    name: Annotated[object, idle_at()] = None
    refusal: Annotated[object, idle_at()] = None
    annotations: Annotated[object, idle_at([])] = None
    audio: Annotated[object, idle_at()] = None
    function_call: Annotated[object, idle_at()] = None
    tool_calls: Annotated[object, idle_at([])] = None

    def document(self) -> Message:
        """The message as a chat template reads it."""
        # `developer` is OpenAI's newer name; models were trained with, and templates know, the older one.
        return {"role": "system" if self.role == "developer" else self.role, "content": self.content}


class ChatAsking(OpenAIAsking):
    """Body of `POST /v1/chat/completions`. `max_completion_tokens` is the newer name of `max_tokens`."""

    messages: Annotated[tuple[ChatMessage, ...], AfterValidator(_not_empty)]
    max_completion_tokens: int | None = None
    prompt_cache_key: str | None = None
    safety_identifier: str | None = None
    """Both say who asks, and change nothing."""
    audio: Annotated[object, idle_at()] = None
    function_call: Annotated[object, idle_at("none", "auto")] = None
    functions: Annotated[object, idle_at([])] = None
    logprobs: Annotated[object, idle_at(False)] = None
    modalities: Annotated[object, idle_at(["text"])] = None
    parallel_tool_calls: Annotated[object, idle_at(False, True)] = None
    prediction: Annotated[object, idle_at()] = None
    reasoning_effort: Annotated[object, idle_at("none")] = None
    response_format: Annotated[object, idle_at({"type": "text"})] = None
    service_tier: Annotated[object, idle_at("auto", "default")] = None
    store: Annotated[object, idle_at(False)] = None
    tool_choice: Annotated[object, idle_at("none", "auto")] = None
    tools: Annotated[object, idle_at([])] = None
    top_logprobs: Annotated[object, idle_at(0)] = None
    verbosity: Annotated[object, idle_at("medium")] = None
    web_search_options: Annotated[object, idle_at()] = None

    def settings(self) -> dict[str, object]:
        """As in every completion, with the newer name."""
        asked = super().settings()
        return asked if self.max_completion_tokens is None else {**asked, "max_new_tokens": self.max_completion_tokens}

    def called(self) -> Mapping[str, str]:
        """As in every completion, by the name that was used."""
        is_newer = self.max_completion_tokens is not None
        return {"max_new_tokens": "max_completion_tokens"} if is_newer else super().called()

    def check(self) -> None:
        """As in every completion; the two names must not contradict each other."""
        super().check()
        if self.max_tokens is not None and self.max_completion_tokens not in (None, self.max_tokens):
            raise RequestRefused([FieldFault("max_tokens", "differs from max_completion_tokens; send one of them")])


@dataclass(frozen=True, slots=True)
class ChatWriter:
    """Writes `chat.completion`, or `chat.completion.chunk` piece by piece."""

    stated: Stated

    def opening(self) -> bytes:
        """The chunk that says who speaks."""
        return self.stated.chunk(_CHUNK, _delta({"role": "assistant", "content": ""}))

    def piece(self, token: Token) -> bytes:
        """The chunk of a token."""
        return self.stated.chunk(_CHUNK, _delta({"content": token.text}))

    def closing(self, _text: str, ended: Ended) -> bytes:
        """The chunk that says why the answer ends, and the end of the stream."""
        return self.stated.chunk(_CHUNK, _delta({}, ended.reason)) + self.stated.end(_CHUNK, ended)

    def whole(self, text: str, ended: Ended) -> dict[str, object]:
        """The answer as one object."""
        message = {"role": "assistant", "content": text, "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": ended.reason}
        return self.stated.whole("chat.completion", choice, ended)


def _delta(delta: Mapping[str, str], reason: str | None = None) -> dict[str, object]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
