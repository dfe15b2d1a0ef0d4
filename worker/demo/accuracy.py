"""How often an engine is right, asked the way a client asks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from worker.demo.dataset import Message
from worker.engine import Engine


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Shares of messages, 0 to 1. A fallback answer counts as wrong, for the client was not told the intent."""

    messages: int
    overall: float
    chinese: float
    english: float
    fallback: float


def accuracy(engine: Engine, messages: Sequence[Message]) -> Accuracy:
    """Ask every message, fallback and threshold in force."""
    answers = [engine.infer(message.text).answer.intent for message in messages]
    right = [answer == message.intent for answer, message in zip(answers, messages, strict=True)]
    return Accuracy(
        messages=len(messages),
        overall=_share(right),
        chinese=_share(_of_language("zh", messages, right)),
        english=_share(_of_language("en", messages, right)),
        fallback=_share(answer == engine.postprocess.fallback for answer in answers),
    )


def _of_language(language: str, messages: Sequence[Message], right: Sequence[bool]) -> list[bool]:
    return [is_right for message, is_right in zip(messages, right, strict=True) if message.lang == language]


def _share(facts: Iterable[bool]) -> float:
    counted = list(facts)
    return sum(counted) / len(counted) if counted else 0.0
