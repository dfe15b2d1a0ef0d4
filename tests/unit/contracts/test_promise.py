import pytest
from pydantic import ValidationError

from contracts.promise import BehavioralConstraints, Promise


def test_a_promise_may_say_nothing() -> None:
    promise = Promise()

    assert (promise.input_schema, promise.output_schema) == (None, None)
    assert promise.hardware_requirements.is_empty
    assert promise.behavioral_constraints == BehavioralConstraints(
        max_input_length=None, deterministic=None, allowed_tokenizers=()
    )


def test_schemas_are_kept_as_json_schema() -> None:
    promise = Promise.model_validate({"output_schema": {"confidence": "float?"}})

    assert promise.output_schema == {"type": "object", "properties": {"confidence": {"type": "number"}}}


@pytest.mark.parametrize(
    "constraints",
    [
        {"max_input_length": 0},
        {"max_input_length": "512"},
        {"deterministic": 1},
        {"allowed_tokenizers": [""]},
        {"x": 1},
    ],
)
def test_constraints_that_cannot_be_meant_are_refused(constraints: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        BehavioralConstraints.model_validate(constraints)
