from __future__ import annotations

import json

from inference_dna.measure.healthz import Served
from worker.answering import answer_document, events
from worker.postprocess import Postprocess
from worker.ranking import Answer, Candidate

VALUES = Postprocess(1.0, 2, 0.0, "other", {"refund": {"zh": "退款", "en": "Refund"}})
ANSWER = Answer("refund", 0.75, (Candidate("refund", 0.75), Candidate("coupon", 0.25)))


def test_an_answer_names_intent_candidates_and_who_answered(served: Served) -> None:
    assert answer_document(ANSWER, VALUES, served) == {
        "intent": "refund",
        "label": {"zh": "退款", "en": "Refund"},
        "confidence": 0.75,
        "top": [{"intent": "refund", "confidence": 0.75}, {"intent": "coupon", "confidence": 0.25}],
        "model_id": "intent-classifier",
        "version": "v2.4.0",
    }


def test_a_stream_is_the_candidates_by_rank_and_then_the_whole(served: Served) -> None:
    first, second, last = events(ANSWER, VALUES, served)

    assert first == b'event: candidate\ndata: {"rank": 1, "intent": "refund", "confidence": 0.75}\n\n'
    assert second == b'event: candidate\ndata: {"rank": 2, "intent": "coupon", "confidence": 0.25}\n\n'
    name, data, *rest = last.decode().split("\n")
    assert name == "event: answer"
    assert json.loads(data.removeprefix("data: ")) == answer_document(ANSWER, VALUES, served)
    assert rest == ["", ""]
