from __future__ import annotations

import json

from inference_dna.measure.healthz import Served
from worker.answering import GenerateWriter, answer_document, events
from worker.generation import Ended, Token
from worker.ranking import Answer, Candidate

NAMES = {"refund": {"zh": "退款", "en": "Refund"}}
ANSWER = Answer("refund", 0.75, (Candidate("refund", 0.75), Candidate("coupon", 0.25)))


def test_an_answer_names_intent_candidates_and_who_answered(served: Served) -> None:
    assert answer_document(ANSWER, NAMES, served) == {
        "intent": "refund",
        "label": {"zh": "退款", "en": "Refund"},
        "confidence": 0.75,
        "top": [{"intent": "refund", "confidence": 0.75}, {"intent": "coupon", "confidence": 0.25}],
        "model_id": "intent-classifier",
        "version": "v2.4.0",
    }


def test_a_stream_is_the_candidates_by_rank_and_then_the_whole(served: Served) -> None:
    first, second, last = events(ANSWER, NAMES, served)

    assert first == b'event: candidate\ndata: {"rank": 1, "intent": "refund", "confidence": 0.75}\n\n'
    assert second == b'event: candidate\ndata: {"rank": 2, "intent": "coupon", "confidence": 0.25}\n\n'
    name, data, *rest = last.decode().split("\n")
    assert name == "event: answer"
    assert json.loads(data.removeprefix("data: ")) == answer_document(ANSWER, NAMES, served)
    assert rest == ["", ""]


def test_a_label_without_names_is_told_without_them(served: Served) -> None:
    assert answer_document(ANSWER, {}, served)["label"] == {}


def test_generated_text_comes_with_how_it_ended_and_what_was_counted(served: Served) -> None:
    assert GenerateWriter(served).whole("Paris.", Ended("stop", 31, 3)) == {
        "text": "Paris.",
        "finish_reason": "stop",
        "usage": {"prompt_tokens": 31, "completion_tokens": 3},
        "model_id": "intent-classifier",
        "version": "v2.4.0",
    }


def test_a_stream_of_text_is_its_tokens_and_then_the_whole(served: Served) -> None:
    writer = GenerateWriter(served)
    sent = writer.opening() + writer.piece(Token(7, "Paris")) + writer.closing("Paris", Ended("stop", 31, 2))
    token, whole, rest = sent.decode().split("\n\n")

    assert token == 'event: token\ndata: {"id": 7, "text": "Paris"}'
    assert json.loads(whole.removeprefix("event: answer\ndata: ")) == writer.whole("Paris", Ended("stop", 31, 2))
    assert rest == ""
