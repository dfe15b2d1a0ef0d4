from __future__ import annotations

from dataclasses import replace

from worker.demo.accuracy import accuracy
from worker.demo.dataset import Message
from worker.engine import Engine


def message(intent: str, lang: str, text: str) -> Message:
    return Message(intent, "heldout", "2.3", lang, text)


ASKED = [
    message("refund", "zh", "我要退款"),
    message("refund", "en", "I want a refund"),
    message("invoice", "en", "I want a refund"),
]


def test_shares_are_by_language_and_overall(engine: Engine) -> None:
    result = accuracy(engine, ASKED)

    assert (result.messages, result.overall, result.chinese, result.english, result.fallback) == (
        3,
        2 / 3,
        1.0,
        0.5,
        0.0,
    )


def test_a_fallback_answer_is_wrong(engine: Engine) -> None:
    unsure = replace(engine, postprocess=replace(engine.postprocess, threshold=1.0, temperature=100.0))
    result = accuracy(unsure, ASKED)

    assert (result.overall, result.fallback) == (0.0, 1.0)


def test_a_language_nobody_asked_in_has_no_share(engine: Engine) -> None:
    assert accuracy(engine, ASKED[:1]).english == 0.0
