"""The structure of ONNX files: which files outside hold their tensors (provenance.md section 2).

The graph file is small and unchanged while the data beside it differs, so every file it names must be there, must be
measured, and must be long enough. Field numbers are those of ONNX's published schema; the package `onnx` is not needed.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO

from inference_dna.canonical import Refused, first_repeated
from inference_dna.files import FileEntry, check_name
from inference_dna.measure.inside import Parts
from inference_dna.measure.protobuf import Message

SUFFIX = ".onnx"
ONNX = "onnx"

_HOLDS: Mapping[str, Mapping[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
}
"""Every way from a model to a tensor: message, field number, message below."""
_MODEL_GRAPH = 7
_EXTERNAL_DATA, _DATA_LOCATION = 13, 14
_KEY, _VALUE = 1, 2
_MAX_DEPTH = 64


@dataclass(frozen=True, slots=True)
class OnnxFile:
    """An ONNX graph: for each file it names, as written there, how many bytes of it must exist at least."""

    external: Mapping[str, int]
    form: str = ONNX
    tensors: frozenset[str] | None = None
    code: tuple[FileEntry, ...] = ()

    def check(self, name: str, parts: Parts) -> None:
        """Judge the external data: beside or below the graph, among the weights, long enough.

        Raises:
            Refused: As said.
        """
        for location, least in self.external.items():
            part = parts.get(_beside(name, location))
            if part is None:
                raise Refused(f"The graph {name!a} keeps tensors in {location!a}, which is not among the weight files.")
            if part.size < least:
                raise Refused(
                    f"The file {location!a} has {part.size} bytes, {name!a} needs {least}; it may be truncated."
                )


def inspect_onnx(stream: BinaryIO, name: str, size: int) -> OnnxFile:
    """Find the external data of a graph, subgraphs and functions included.

    Args:
        stream: The file, open for reading in binary.
        name: Its name in the model folder.
        size: Its size in bytes.

    Raises:
        Refused: The file is no ONNX model, or a tensor does not say where its data lies.
    """
    model = Message(stream, name, 0, size)
    if not any(field.number == _MODEL_GRAPH and field.is_bytes for field in model.fields()):
        raise Refused(f"The file {name!a} is no ONNX model: it holds no graph.")
    external: dict[str, int] = {}
    for tensor in _tensors(model, "model", name, 1):
        found = _external(tensor, name)
        if found is not None:
            location, least = found
            external[location] = max(least, external.get(location, 0))
    return OnnxFile(external)


def _tensors(message: Message, kind: str, name: str, depth: int) -> Iterator[Message]:
    if depth > _MAX_DEPTH:
        raise Refused(f"The graph {name!a} nests deeper than {_MAX_DEPTH} messages.")
    below = _HOLDS[kind]
    for field in message.fields():
        held = below.get(field.number)
        if held == "tensor":
            yield message.below(field)
        elif held is not None:
            yield from _tensors(message.below(field), held, name, depth + 1)


def _external(tensor: Message, name: str) -> tuple[str, int] | None:
    """Location and the bytes that must exist there, None for a tensor whose data is inside the graph.

    Exporters write `x.data` and `./x.data` for the same file.
    """
    entries, is_external = [], False
    for field in tensor.fields():
        if field.number == _EXTERNAL_DATA:
            entries.append(_entry(tensor.below(field)))
        elif field.number == _DATA_LOCATION:
            is_external = is_external or field.value == 1
    if not entries and not is_external:
        return None
    twice = first_repeated(key for key, _ in entries)
    stated = dict(entries)
    if twice is not None or not stated.get("location"):
        raise Refused(f"A tensor of {name!a} keeps its data outside and does not say where, or says it twice.")
    end = _number(stated.get("offset"), name) + _number(stated.get("length"), name)
    return stated["location"].removeprefix("./"), end


def _entry(entry: Message) -> tuple[str, str]:
    texts = {field.number: entry.text(field) for field in entry.fields() if field.number in (_KEY, _VALUE)}
    return texts.get(_KEY, ""), texts.get(_VALUE, "")


def _number(text: str | None, name: str) -> int:
    if text is None:
        return 0
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise Refused(f"A tensor of {name!a} states {text!a} as a place in its external data.")
    return int(text)


def _beside(name: str, location: str) -> str:
    try:
        check_name(location)
    except Refused as error:
        raise Refused(f"The graph {name!a} keeps tensors in {location!a}, which leaves its folder.") from error
    return posixpath.join(posixpath.dirname(name), location)
