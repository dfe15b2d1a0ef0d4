from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from inference_dna.assurance import Assurance
from inference_dna.measure.healthz import Served
from worker.backend import Inference
from worker.fault import RequestRefused
from worker.generation import Ended, Token
from worker.ranking import Answer, Candidate
from worker.surface.tensors import (
    CLASSIFIER_OUTPUTS,
    InferAsking,
    Named,
    TritonWriter,
    classified,
    described,
    inferred,
)

SERVED = Served("intent-classifier", "v2.4.0", Assurance.FULL_HASH)
REFUND = Inference(Answer("refund", 0.75, (Candidate("refund", 0.75),)), "5" * 64)
OTHER = Inference(Answer("other", 0.25, (Candidate("coupon", 0.25),)), "6" * 64)


def asked(data: Any, shape: list[int], **members: Any) -> InferAsking:
    tensor = {"name": "text", "datatype": "BYTES", "shape": shape, "data": data}
    return InferAsking.model_validate_json(json.dumps({"inputs": [tensor], **members}))


@pytest.mark.parametrize(
    ("data", "shape"),
    [
        pytest.param(["a", "b"], [2], id="flat"),
        pytest.param(["a", "b"], [2, 1], id="flat-data-of-two-dimensions"),
        pytest.param([["a"], ["b"]], [2, 1], id="nested"),
        pytest.param([[["a"], ["b"]]], [1, 2, 1], id="nested-deeper"),
    ],
)
def test_texts_are_read_in_row_major_order(data: Any, shape: list[int]) -> None:
    assert asked(data, shape).texts() == ("a", "b")


def test_shape_and_data_must_agree() -> None:
    with pytest.raises(RequestRefused, match=r"inputs\.0\.shape: says 3 texts and the data holds 1"):
        asked(["a"], [3]).texts()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        pytest.param({"datatype": "FP32"}, "inputs.0.datatype", id="numbers"),
        pytest.param({"name": "input_ids"}, "inputs.0.name", id="another-input"),
        pytest.param({"data": [1]}, "inputs.0.data.0", id="a-number-as-text"),
        pytest.param({"shape": [0]}, "inputs.0.shape.0", id="nothing"),
        pytest.param({"parameters": {"x": 5}}, "inputs.0.parameters.x", id="another-parameter"),
    ],
)
def test_another_tensor_is_refused_by_field(change: dict[str, Any], field: str) -> None:
    tensor = {"name": "text", "datatype": "BYTES", "shape": [1], "data": ["a"], **change}
    with pytest.raises(ValidationError) as refused:
        InferAsking.model_validate_json(json.dumps({"inputs": [tensor]}))

    assert [".".join(map(str, each["loc"])) for each in refused.value.errors()] == [field]


@pytest.mark.parametrize(
    ("tensor", "binary", "says"),
    [
        pytest.param({"data": ["a"]}, b"bytes", "says 0 bytes and 5 came", id="bytes-that-nobody-announced"),
        pytest.param({"parameters": {"binary_data_size": 9}}, b"bytes", "says 9 bytes and 5 came", id="too-few"),
        pytest.param({"data": ["a"], "parameters": {"binary_data_size": 5}}, b"bytes", "either this or", id="both"),
        pytest.param({}, b"", "either this or", id="neither"),
    ],
)
def test_texts_are_in_one_place(tensor: dict[str, Any], binary: bytes, says: str) -> None:
    tensor = {"name": "text", "datatype": "BYTES", "shape": [1], **tensor}
    asking = InferAsking.model_validate_json(json.dumps({"inputs": [tensor]}))

    with pytest.raises(RequestRefused, match=says):
        asking.texts(binary)


def test_a_wish_for_bytes_is_no_setting() -> None:
    asking = asked(["a"], [1], parameters={"binary_data_output": True, "seed": 1})

    assert asking.settings() == {"seed": 1}


def test_an_output_that_does_not_exist_is_named() -> None:
    asking = asked(["a"], [1], outputs=[{"name": "intent"}, {"name": "logits"}])

    with pytest.raises(RequestRefused, match=r"outputs\.1\.name: this model has the outputs intent, confidence"):
        asking.check_outputs(CLASSIFIER_OUTPUTS)


def test_a_classifier_answers_a_row_per_text() -> None:
    asking = asked(["a", "b"], [2], id="7")

    assert classified(Named(SERVED, "7"), asking, [REFUND, OTHER]) == {
        "model_name": "intent-classifier",
        "model_version": "v2.4.0",
        "id": "7",
        "outputs": [
            {"name": "intent", "datatype": "BYTES", "shape": [2], "data": ["refund", "other"]},
            {"name": "confidence", "datatype": "FP64", "shape": [2], "data": [0.75, 0.25]},
        ],
    }


def test_only_what_was_asked_for_is_answered() -> None:
    asking = asked(["a"], [1], outputs=[{"name": "confidence"}])

    assert classified(Named(SERVED, None), asking, [REFUND])["outputs"] == [
        {"name": "confidence", "datatype": "FP64", "shape": [1], "data": [0.75]}
    ]


def test_generated_text_is_a_tensor_of_one() -> None:
    answer = inferred(Named(SERVED, None), "Paris.", Ended("stop", 31, 3))

    assert answer["outputs"] == [{"name": "text", "datatype": "BYTES", "shape": [1], "data": ["Paris."]}]
    assert answer["parameters"] == {"finish_reason": "stop", "prompt_tokens": 31, "completion_tokens": 3}


def test_tritons_stream_is_an_event_per_piece_and_one_that_says_how_it_ended() -> None:
    writer = TritonWriter(Named(SERVED, "7"))
    sent = writer.opening() + writer.piece(Token(1, "Paris")) + writer.closing("Paris", Ended("stop", 31, 2))
    first, last, rest = sent.decode().split("\n\n")

    named = {"model_name": "intent-classifier", "model_version": "v2.4.0", "id": "7"}
    assert json.loads(first.removeprefix("data: ")) == {**named, "text_output": "Paris"}
    assert json.loads(last.removeprefix("data: ")) == {
        **named,
        "text_output": "",
        "finish_reason": "stop",
        "prompt_tokens": 31,
        "completion_tokens": 2,
    }
    assert rest == ""


def test_the_model_is_described_with_its_tensors() -> None:
    described_model = described(SERVED, CLASSIFIER_OUTPUTS)

    assert described_model["versions"] == ["v2.4.0"]
    assert described_model["inputs"] == [{"name": "text", "datatype": "BYTES", "shape": [-1]}]
    assert described_model["outputs"] == [
        {"name": "intent", "datatype": "BYTES", "shape": [-1]},
        {"name": "confidence", "datatype": "FP64", "shape": [-1]},
    ]
