"""The snapshot finds what belongs together."""

from __future__ import annotations

import pytest

from contracts.version import Version
from gateway.routing.snapshot import EMPTY, Refusal
from tests.support.fleets import MODEL, fleet, worker


def test_a_version_is_found_by_model_and_version() -> None:
    snapshot = fleet("v1.2.0", "v1.4.0")

    found = snapshot.version(MODEL, Version(1, 2, 0))

    assert found is not None
    assert found.version == Version(1, 2, 0)


@pytest.mark.parametrize(
    ("model_id", "version"),
    [("gpt-2", Version(1, 2, 0)), (MODEL, Version(9, 9, 9)), (MODEL, Version(1, 2, 0, (), ("b",)))],
)
def test_what_this_generation_has_not_is_none(model_id: str, version: Version) -> None:
    assert fleet("v1.2.0").version(model_id, version) is None
    assert EMPTY.version(model_id, version) is None


def test_an_instance_is_known_by_model_version_and_address() -> None:
    before, after = worker("v1.2.0"), worker("v1.2.0", refused="down: x", weight=2.0)

    assert before.key == after.key == (MODEL, "v1.2.0", "http://i-1:8000")
    assert worker("v1.2.1").key != before.key


@pytest.mark.parametrize(
    ("step", "cause", "text"), [("ejected", "digest differs", "ejected: digest differs"), ("down", "", "down")]
)
def test_a_refusal_reads_as_step_and_cause(step: str, cause: str, text: str) -> None:
    assert str(Refusal(step, cause)) == text
