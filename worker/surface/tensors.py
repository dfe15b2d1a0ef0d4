"""Open Inference Protocol v2: texts in, as JSON or as bytes behind it; tensors out, as JSON. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from inference_dna.measure.healthz import Served
from worker.asking import Asking
from worker.backend import Inference
from worker.fault import FieldFault, RequestRefused
from worker.generation import Ended, Token
from worker.surface.binary_tensors import DATA_FIELD, read_texts
from worker.surface.events import event

INPUT = "text"
TEXT_OUTPUTS = {"text": "BYTES"}
CLASSIFIER_OUTPUTS = {"intent": "BYTES", "confidence": "FP64"}
"""Outputs and their datatypes."""
_BINARY_OUTPUT = "binary_data_output"


def _flat(data: object) -> object:
    """Read nested lists as the flat row that they stand for, in row-major order."""
    return tuple(_items(data)) if isinstance(data, list) else data


def _items(data: Sequence[object]) -> Iterator[object]:
    for each in data:
        if isinstance(each, list):
            yield from _items(each)
        else:
            yield each


def _only_one(inputs: tuple[InputTensor, ...]) -> tuple[InputTensor, ...]:
    if len(inputs) != 1:
        raise ValueError(f"must hold one tensor named `{INPUT}`")
    return inputs


class InputParameters(Asking):
    """Where the texts of a tensor are, if not in the JSON."""

    binary_data_size: Annotated[int, Field(ge=0)] | None = None


class InputTensor(Asking):
    """A tensor of texts: as `data`, or as so many bytes behind the JSON."""

    name: Literal["text"]
    datatype: Literal["BYTES"]
    shape: tuple[Annotated[int, Field(ge=1)], ...]
    data: Annotated[tuple[str, ...] | None, BeforeValidator(_flat)] = None
    parameters: InputParameters = InputParameters()

    def read(self, binary: bytes) -> tuple[str, ...]:
        """Give the texts; `binary` is what came behind the JSON.

        Raises:
            RequestRefused: They are in neither place or in both, or the sizes differ.
        """
        size = self.parameters.binary_data_size
        if (size is None) == (self.data is None):
            raise RequestRefused([FieldFault(DATA_FIELD, "send either this or parameters.binary_data_size")])
        if len(binary) != (size or 0):
            fault = f"says {size or 0} bytes and {len(binary)} came behind the JSON"
            raise RequestRefused([FieldFault("inputs.0.parameters.binary_data_size", fault)])
        return read_texts(binary) if self.data is None else self.data


class OutputParameters(Asking):
    """How an output is wished for."""

    binary_data: bool = False
    """Outputs are few and small: they come as JSON, which clients that would take bytes read as well."""


class WantedOutput(Asking):
    """An output that is asked for."""

    name: str
    parameters: OutputParameters = OutputParameters()


class InferAsking(Asking):
    """Body of `POST /v2/models/<m>/infer`. `parameters` are settings of the generation."""

    id: str | None = None
    inputs: Annotated[tuple[InputTensor, ...], AfterValidator(_only_one)]
    parameters: Mapping[str, Any] = {}
    outputs: tuple[WantedOutput, ...] = ()

    def settings(self) -> dict[str, object]:
        """What is asked of the generation: the parameters, without the wish for outputs as bytes (`WantedOutput`)."""
        return {name: value for name, value in self.parameters.items() if name != _BINARY_OUTPUT}

    def texts(self, binary: bytes = b"") -> tuple[str, ...]:
        """The texts of the input.

        Args:
            binary: What came behind the JSON.

        Raises:
            RequestRefused: Shape and data disagree, or the data cannot be read.
        """
        tensor = self.inputs[0]
        texts = tensor.read(binary)
        if math.prod(tensor.shape) != len(texts):
            fault = f"says {math.prod(tensor.shape)} texts and the data holds {len(texts)}"
            raise RequestRefused([FieldFault("inputs.0.shape", fault)])
        return texts

    def check_outputs(self, known: Mapping[str, str]) -> None:
        """Check that the outputs asked for exist.

        Raises:
            RequestRefused: With every one that does not.
        """
        fault = f"this model has the outputs {', '.join(known)}"
        unknown = [place for place, wanted in enumerate(self.outputs) if wanted.name not in known]
        if unknown:
            raise RequestRefused([FieldFault(f"outputs.{place}.name", fault) for place in unknown])


class TritonAsking(Asking):
    """Body of Triton's `POST /v2/models/<m>/generate` and `/generate_stream`."""

    id: str | None = None
    text_input: str
    parameters: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Named:
    """Who answers whom: members at the head of every answer."""

    served: Served
    id: str | None

    def head(self) -> dict[str, object]:
        """The members."""
        named: dict[str, object] = {"model_name": self.served.model_id, "model_version": self.served.version}
        return named if self.id is None else {**named, "id": self.id}


@dataclass(frozen=True, slots=True)
class TritonWriter:
    """Writes generated text as Triton's generate extension does: an object, or one event per piece of text."""

    named: Named

    def opening(self) -> bytes:
        """Nothing comes before the first token."""
        return b""

    def piece(self, token: Token) -> bytes:
        """The event of a token."""
        return event({**self.named.head(), "text_output": token.text})

    def closing(self, _text: str, ended: Ended) -> bytes:
        """The event that says how it ended."""
        return event({**self.named.head(), "text_output": "", **_counted(ended)})

    def whole(self, text: str, ended: Ended) -> dict[str, object]:
        """The answer as one object."""
        return {**self.named.head(), "text_output": text, **_counted(ended)}


def classified(named: Named, asking: InferAsking, inferences: Sequence[Inference]) -> dict[str, object]:
    """Write a classifier's answers, one row per text, with the outputs that were asked for."""
    rows: dict[str, list[object]] = {
        "intent": [inference.answer.intent for inference in inferences],
        "confidence": [inference.answer.confidence for inference in inferences],
    }
    wanted = [output.name for output in asking.outputs] or list(rows)
    return {**named.head(), "outputs": [_output(name, CLASSIFIER_OUTPUTS[name], rows[name]) for name in wanted]}


def inferred(named: Named, text: str, ended: Ended) -> dict[str, object]:
    """Write generated text as a tensor."""
    return {**named.head(), "parameters": _counted(ended), "outputs": [_output("text", "BYTES", [text])]}


def described(served: Served, outputs: Mapping[str, str]) -> dict[str, object]:
    """Write the metadata of the model."""
    return {
        "name": served.model_id,
        "versions": [served.version],
        "platform": "dna-worker",
        "inputs": [{"name": INPUT, "datatype": "BYTES", "shape": [-1]}],
        "outputs": [{"name": name, "datatype": datatype, "shape": [-1]} for name, datatype in outputs.items()],
    }


def _output(name: str, datatype: str, data: Sequence[object]) -> dict[str, object]:
    return {"name": name, "datatype": datatype, "shape": [len(data)], "data": list(data)}


def _counted(ended: Ended) -> dict[str, object]:
    return {
        "finish_reason": ended.reason,
        "prompt_tokens": ended.prompt_tokens,
        "completion_tokens": ended.completion_tokens,
    }
