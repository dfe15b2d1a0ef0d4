"""Writes the answers of `/generate` and `/generate_stream`: one JSON object, or the same as server-sent events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from inference_dna.measure.healthz import Served
from worker.generation import Ended, Token
from worker.ranking import Answer, Candidate
from worker.surface.events import event

Names = Mapping[str, Mapping[str, str]]
"""What each label is called, by language."""


def answer_document(answer: Answer, names: Names, served: Served) -> dict[str, object]:
    """The body of a classifier's answer. It names its model, so that even a bare body tells who answered."""
    return {
        "intent": answer.intent,
        "label": dict(names.get(answer.intent, {})),
        "confidence": answer.confidence,
        "top": [_candidate(candidate) for candidate in answer.top],
        "model_id": served.model_id,
        "version": served.version,
    }


def events(answer: Answer, names: Names, served: Served) -> Iterator[bytes]:
    """A classifier's answer event by event, best first: `candidate` per rank, then `answer` with the whole."""
    for place, candidate in enumerate(answer.top, start=1):
        yield event({"rank": place, **_candidate(candidate)}, "candidate")
    yield event(answer_document(answer, names, served), "answer")


@dataclass(frozen=True, slots=True)
class GenerateWriter:
    """A language model's answer: `token` per piece of text, then `answer` with what the whole was made of."""

    served: Served

    def opening(self) -> bytes:
        """Nothing comes before the first token."""
        return b""

    def piece(self, token: Token) -> bytes:
        """The event of a token."""
        return event({"id": token.id, "text": token.text}, "token")

    def closing(self, text: str, ended: Ended) -> bytes:
        """The event that says that the answer is whole."""
        return event(self.whole(text, ended), "answer")

    def whole(self, text: str, ended: Ended) -> dict[str, object]:
        """The answer as one object."""
        return {
            "text": text,
            "finish_reason": ended.reason,
            "usage": {"prompt_tokens": ended.prompt_tokens, "completion_tokens": ended.completion_tokens},
            "model_id": self.served.model_id,
            "version": self.served.version,
        }


def _candidate(candidate: Candidate) -> dict[str, object]:
    return {"intent": candidate.intent, "confidence": candidate.confidence}
