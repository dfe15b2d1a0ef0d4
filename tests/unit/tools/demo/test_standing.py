from typing import Any

import pytest

from tools.demo.standing import Standing, standings


def instance(**fields: Any) -> dict[str, Any]:
    return {
        "url": "http://127.0.0.1:9000",
        "version": "v2.4.0",
        "identity": "verified",
        "liveness": "up",
        "dna": "a1b2c3d49f8e7d6c",
        "reason": "",
    } | fields


def read(**fields: Any) -> Standing:
    [standing] = standings({"instances": [instance(**fields)]})
    return standing


@pytest.mark.parametrize(
    ("identity", "liveness", "may_answer"),
    [("verified", "up", True), ("verified", "down", False), ("unverified", "up", False), ("ejected", "up", False)],
)
def test_only_who_is_verified_and_up_may_answer(identity: str, liveness: str, *, may_answer: bool) -> None:
    assert read(identity=identity, liveness=liveness).may_answer is may_answer


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("ejected: digest differs", "digest differs"),
        ("down: connection refused: 127.0.0.1:9000", "connection refused: 127.0.0.1:9000"),
        ("", ""),
    ],
)
def test_the_cause_stands_behind_the_state(reason: str, cause: str) -> None:
    assert read(reason=reason).cause == cause


def test_an_instance_that_said_nothing_has_no_dna() -> None:
    assert read(dna=None).dna == ""
