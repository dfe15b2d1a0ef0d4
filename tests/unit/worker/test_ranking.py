from __future__ import annotations

from dataclasses import replace

import pytest

from worker.postprocess import Postprocess
from worker.ranking import Answer, Candidate, rank

VALUES = Postprocess(temperature=1.0, top_k=2, threshold=0.5, fallback="other", labels={})
LABELS = ("a", "b", "c")


def test_the_best_candidate_is_the_answer() -> None:
    # e^2 : e^0 : e^0 is 7.389 : 1 : 1
    assert rank([0.0, 2.0, 0.0], LABELS, VALUES) == Answer(
        "b", 0.786986, (Candidate("b", 0.786986), Candidate("a", 0.106507))
    )


@pytest.mark.parametrize(
    ("threshold", "intent"),
    [
        pytest.param(0.0, "a", id="no-threshold"),
        pytest.param(1 / 3, "a", id="just-reached"),
        pytest.param(0.34, "other", id="just-missed"),
    ],
)
def test_below_the_threshold_the_answer_is_the_fallback(threshold: float, intent: str) -> None:
    answer = rank([0.0, 0.0, 0.0], LABELS, replace(VALUES, threshold=threshold))

    assert answer.intent == intent
    assert [candidate.intent for candidate in answer.top] == ["a", "b"]


def test_a_lower_temperature_makes_the_answer_surer_and_keeps_the_order() -> None:
    scores = [1.0, 3.0, 2.0]
    warm, cold = (rank(scores, LABELS, replace(VALUES, temperature=value)) for value in (1.0, 0.25))

    assert cold.confidence > warm.confidence
    assert [one.intent for one in cold.top] == [one.intent for one in warm.top] == ["b", "c"]


def test_scores_too_large_to_exponentiate_are_ranked() -> None:
    assert rank([0.0, 5000.0, -5000.0], LABELS, VALUES).confidence == 1.0
