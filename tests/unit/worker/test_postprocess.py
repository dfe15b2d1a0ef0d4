from __future__ import annotations

from typing import Any

import pytest

from worker.postprocess import PostprocessRefused, parse_postprocess

INTENTS = ("refund", "greeting")
NAMES = {"zh": "名", "en": "Name"}


def every(names: dict[str, str]) -> dict[str, dict[str, str]]:
    """Give every intent the same names."""
    return dict.fromkeys((*INTENTS, "other"), names)


def values(**changes: Any) -> dict[str, Any]:
    good = {
        "temperature": 0.5,
        "top_k": 2,
        "threshold": 0.25,
        "fallback": "other",
        "labels": every(NAMES),
    }
    return good | changes


def test_values_are_taken_in_the_types_that_are_used() -> None:
    parsed = parse_postprocess(values(temperature=1, threshold=0), INTENTS)

    assert repr(parsed.document()["temperature"]) == "1.0"
    assert repr(parsed.document()["threshold"]) == "0.0"


def test_the_document_holds_every_value() -> None:
    assert parse_postprocess(values(), INTENTS).document() == values()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        pytest.param({"temperature": 0}, "temperature", id="temperature-zero"),
        pytest.param({"temperature": "0.5"}, "temperature", id="temperature-as-text"),
        pytest.param({"temperature": True}, "temperature", id="temperature-as-truth"),
        pytest.param({"threshold": 1.1}, "threshold", id="threshold-above-one"),
        pytest.param({"threshold": -0.1}, "threshold", id="threshold-below-zero"),
        pytest.param({"top_k": 0}, "top_k", id="no-candidate"),
        pytest.param({"top_k": 3}, "top_k", id="more-candidates-than-intents"),
        pytest.param({"top_k": 1.0}, "top_k", id="top-k-as-float"),
        pytest.param({"fallback": "refund"}, "fallback", id="fallback-is-an-intent"),
        pytest.param({"fallback": ""}, "fallback", id="fallback-empty"),
        pytest.param({"labels": {"refund": NAMES}}, "labels", id="a-label-missing"),
        pytest.param({"labels": []}, "labels", id="labels-are-a-list"),
        pytest.param({"labels": every({"zh": "名"})}, "zh and en", id="a-language-missing"),
        pytest.param({"labels": every({"zh": "", "en": "a"})}, "empty", id="a-name-empty"),
        pytest.param({"top_p": 0.9}, "exactly", id="unknown-member"),
    ],
)
def test_bad_values_are_refused_by_name(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(PostprocessRefused, match=says):
        parse_postprocess(values(**changes), INTENTS)


def test_nothing_of_the_values_can_be_written() -> None:
    parsed = parse_postprocess(values(), INTENTS)

    with pytest.raises(AttributeError):
        parsed.temperature = 1.0  # type: ignore[misc]
    with pytest.raises(TypeError):
        parsed.labels["refund"] = NAMES  # type: ignore[index]
    with pytest.raises(TypeError):
        parsed.labels["refund"]["en"] = "Mine"  # type: ignore[index]
