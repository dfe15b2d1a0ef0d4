from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from worker.fault import RequestRefused
from worker.generation import Allowed, GenerationRequest, Settings, fit, merge

DEFAULTS = Settings(max_new_tokens=10, temperature=0.7, stop=("END",))


def test_what_is_asked_for_replaces_the_default_and_nothing_else() -> None:
    asked = {"temperature": 0, "seed": 5, "stop": "x", "top_k": None}

    assert merge(DEFAULTS, asked, Allowed()) == Settings(max_new_tokens=10, temperature=0.0, seed=5, stop=("x",))
    assert Settings(max_new_tokens=10, temperature=0.7, stop=("END",)) == DEFAULTS


def test_settings_cannot_be_written() -> None:
    with pytest.raises(FrozenInstanceError):
        DEFAULTS.temperature = 1.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        pytest.param("temprature", 0.5, "no setting", id="unknown"),
        pytest.param("do_sample", True, "no setting", id="derived"),
        pytest.param("temperature", "0.5", "number", id="text-for-a-number"),
        pytest.param("temperature", True, "number", id="bool-for-a-number"),
        pytest.param("temperature", float("nan"), "number", id="nan"),
        pytest.param("temperature", float("inf"), "number", id="infinite"),
        pytest.param("temperature", 2.1, "at most 2", id="too-hot"),
        pytest.param("temperature", -0.1, "at least 0", id="below-zero"),
        pytest.param("top_p", 0, "above 0", id="no-probability"),
        pytest.param("top_p", 1.5, "at most 1", id="more-than-all"),
        pytest.param("top_k", -1, "from 0", id="negative-k"),
        pytest.param("top_k", 1.0, "integer", id="float-for-an-integer"),
        pytest.param("repetition_penalty", 0, "at least 0.01", id="no-penalty"),
        pytest.param("repetition_penalty", 1e-40, "at least 0.01", id="penalty-that-overflows"),
        pytest.param("temperature", 10**400, "at most 2", id="more-than-a-float-holds"),
        pytest.param("max_new_tokens", 0, "from 1", id="no-token"),
        pytest.param("max_new_tokens", 101, "to 100", id="more-than-the-bundle-grants"),
        pytest.param("max_new_tokens", True, "integer", id="bool-for-an-integer"),
        pytest.param("seed", 2**63, "integer", id="seed-beyond-int64"),
        pytest.param("stop", [""], "1 to 256", id="empty-stop"),
        pytest.param("stop", ["x"] * 17, "at most 16", id="too-many-stops"),
        pytest.param("stop", 5, "text", id="number-for-a-text"),
        pytest.param("stop", [5], "text", id="number-among-texts"),
    ],
)
def test_a_wrong_setting_is_refused_by_its_field(field: str, value: object, says: str) -> None:
    with pytest.raises(RequestRefused) as refused:
        merge(DEFAULTS, {field: value}, Allowed(most_new_tokens=100))

    (fault,) = refused.value.faults
    assert fault.field == field
    assert says in fault.message


def test_every_wrong_field_is_named_at_once() -> None:
    asked: dict[str, Any] = {"top_p": 7, "nonsense": 1, "seed": 1}

    with pytest.raises(RequestRefused) as refused:
        merge(DEFAULTS, asked, Allowed(frozenset({"top_p"})))

    assert [fault.field for fault in refused.value.faults] == ["top_p", "nonsense", "seed"]
    assert "cannot be changed" in refused.value.faults[2].message


def test_an_answer_gets_the_room_that_its_prompt_leaves() -> None:
    assert fit([1, 2, 3], DEFAULTS, context=8, field="prompt") == GenerationRequest(
        (1, 2, 3), Settings(max_new_tokens=5, temperature=0.7, stop=("END",))
    )


@pytest.mark.parametrize("ids", [[], list(range(8))], ids=["empty", "no-room"])
def test_a_prompt_without_room_is_refused_by_its_field(ids: list[int]) -> None:
    with pytest.raises(RequestRefused) as refused:
        fit(ids, DEFAULTS, context=8, field="messages")

    assert refused.value.faults[0].field == "messages"


def test_a_temperature_that_leaves_one_token_a_chance_takes_the_likeliest() -> None:
    """Scores that are divided by the smallest number there is are no numbers any more."""
    assert not merge(DEFAULTS, {"temperature": 5e-324}, Allowed()).do_sample
    assert merge(DEFAULTS, {"temperature": 1e-6}, Allowed()).do_sample
