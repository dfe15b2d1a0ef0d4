"""Writes an answer: one JSON object, or the same as server-sent events, best candidate first."""

from __future__ import annotations

import json
from collections.abc import Iterator

from inference_dna.measure.healthz import Served
from worker.postprocess import Postprocess
from worker.ranking import Answer, Candidate


def answer_document(answer: Answer, postprocess: Postprocess, served: Served) -> dict[str, object]:
    """The body of `POST /generate`. It names its model, so that even a bare body tells who answered."""
    return {
        "intent": answer.intent,
        "label": dict(postprocess.labels[answer.intent]),
        "confidence": answer.confidence,
        "top": [_candidate(candidate) for candidate in answer.top],
        "model_id": served.model_id,
        "version": served.version,
    }


def events(answer: Answer, postprocess: Postprocess, served: Served) -> Iterator[bytes]:
    """The body of `POST /generate_stream`, event by event: `candidate` per rank, then `answer` with the whole."""
    for place, candidate in enumerate(answer.top, start=1):
        yield _event("candidate", {"rank": place, **_candidate(candidate)})
    yield _event("answer", answer_document(answer, postprocess, served))


def _candidate(candidate: Candidate) -> dict[str, object]:
    return {"intent": candidate.intent, "confidence": candidate.confidence}


def _event(name: str, data: dict[str, object]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
