from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from contracts.terms import Enforcement, Limits, Status, Timeouts, Verification


def test_the_words_of_the_design() -> None:
    assert [*Status] == ["active", "draining", "retired"]
    assert [*Enforcement] == ["enforce", "observe"]
    assert [*Verification] == ["response", "probe"]


@pytest.mark.parametrize(
    ("model", "member", "least", "most"),
    [
        (Timeouts, "connect_s", 0.001, 86_400),
        (Timeouts, "first_byte_s", 0.001, 86_400),
        (Timeouts, "first_byte_stream_s", 0.001, 86_400),
        (Timeouts, "upstream_gap_s", 0.001, 86_400),
        (Timeouts, "total_s", 0.001, 86_400),
        (Limits, "max_in_flight", 1, 100_000),
        (Limits, "max_body_bytes", 1, 2**40),
    ],
)
def test_numbers_have_bounds(model: type[BaseModel], member: str, least: float, most: float) -> None:
    for allowed in (least, most):
        assert getattr(model.model_validate({member: allowed}), member) == allowed
    is_left_open = getattr(model(), member) is None
    for refused in (0, -1, most + 1, "1", True, *([] if is_left_open else [None])):
        with pytest.raises(ValidationError):
            model.model_validate({member: refused})


def test_they_are_immutable() -> None:
    limits: Any = Limits()
    with pytest.raises(ValidationError, match="frozen"):
        limits.max_in_flight = 1
