"""Turns scores into a ranked answer. This file's bytes are part of the postprocess digest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from worker.postprocess import Postprocess

_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Candidate:
    """One intent and how sure the model is of it, 0 to 1."""

    intent: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Answer:
    """What is said to the client: the intent, how sure the model is of its best candidate, and the best candidates."""

    intent: str
    confidence: float
    top: tuple[Candidate, ...]


def rank(scores: Sequence[float], labels: Sequence[str], postprocess: Postprocess) -> Answer:
    """Rank the intents and choose one.

    Args:
        scores: One per label, any finite numbers.
        labels: Intents in the order of the scores.
        postprocess: The values of the bundle.
    """
    confidences = _softmax([score / postprocess.temperature for score in scores])
    # Equal confidences keep the order of the labels, so the same scores always give the same answer.
    ranked = sorted(zip(confidences, labels, strict=True), key=lambda pair: -pair[0])
    top = tuple(Candidate(label, round(confidence, _DIGITS)) for confidence, label in ranked[: postprocess.top_k])
    sure = ranked[0][0] >= postprocess.threshold
    return Answer(top[0].intent if sure else postprocess.fallback, top[0].confidence, top)


def _softmax(scores: Sequence[float]) -> list[float]:
    highest = max(scores)
    exponentials = [math.exp(score - highest) for score in scores]
    total = math.fsum(exponentials)
    return [exponential / total for exponential in exponentials]
