"""Writes the fitted model as an ONNX graph: token ids in, one score per intent out.

    rows   = ids, then for each longer run (its tokens times MULTIPLIERS) mod buckets + vocabulary; 0 where padding is
    scores = sum of weights[rows] / sqrt(sum of importance[rows])

Id 0 is padding and its row is zero, so messages of different length may share a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from worker.demo.fitting import Fitted
from worker.demo.ngrams import MULTIPLIERS

INPUT, OUTPUT = "input_ids", "scores"
_OPSET = 17
_IR_VERSION = 8
_NEVER_ZERO = 1e-6
"""Divides the scores of a message in which nothing was ever seen: they are all zero already."""


@dataclass(slots=True)
class _Graph:
    """A graph that is being written; each method gives the name of what it added."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)

    def constant(self, name: str, value: NDArray[np.generic]) -> str:
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def integer(self, name: str, *values: int) -> str:
        return self.constant(name, np.array(values, dtype=np.int64))

    def node(self, operator: str, inputs: Sequence[str], name: str, **attributes: int) -> str:
        node = helper.make_node(operator, list(inputs), [name], name=name)
        node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
        self.nodes.append(node)
        return name


def export(fitted: Fitted, *, vocabulary: int, ngrams: int, buckets: int) -> bytes:
    """Write the model file.

    Args:
        fitted: Weights and importances, `vocabulary + buckets` rows each.
        vocabulary: How many token ids there are.
        ngrams: Longest run of tokens with weights of its own.
        buckets: Rows that runs of two and more share.
    """
    graph = _Graph()
    rows = INPUT if ngrams == 1 else _rows(graph, ngrams=ngrams, vocabulary=vocabulary, buckets=buckets)
    _scores(graph, rows, _without_padding(fitted))
    return _model(graph, classes=fitted.weights.shape[1])


def _rows(graph: _Graph, *, ngrams: int, vocabulary: int, buckets: int) -> str:
    graph.integer("axis", 1)
    graph.integer("end", np.iinfo(np.int64).max)
    graph.integer("padding", 0)
    graph.integer("vocabulary", vocabulary)
    graph.integer("buckets", buckets)
    for place in range(ngrams):
        graph.integer(f"start{place}", place)
        graph.integer(f"multiplier{place}", MULTIPLIERS[place])
    runs = [_runs(graph, length) for length in range(2, ngrams + 1)]
    return graph.node("Concat", [INPUT, *runs], "rows", axis=1)


def _runs(graph: _Graph, length: int) -> str:
    """Number the runs of one length; a run that reaches into the padding is row 0."""
    name = f"runs{length}"
    total = _term(graph, name, 0, length)
    for place in range(1, length):
        total = graph.node("Add", [total, _term(graph, name, place, length)], f"{name}_sum{place}")
    bucket = graph.node("Mod", [total, "buckets"], f"{name}_bucket")
    row = graph.node("Add", [bucket, "vocabulary"], f"{name}_row")
    inside = graph.node("Greater", [f"{name}_tokens{length - 1}", "padding"], f"{name}_inside")
    return graph.node("Where", [inside, row, "padding"], name)


def _term(graph: _Graph, name: str, place: int, length: int) -> str:
    """The tokens at one place of every run, times the prime of that place."""
    end = "end" if place == length - 1 else graph.integer(f"{name}_end{place}", place - length + 1)
    tokens = graph.node("Slice", [INPUT, f"start{place}", end, "axis"], f"{name}_tokens{place}")
    return graph.node("Mul", [tokens, f"multiplier{place}"], f"{name}_term{place}")


def _scores(graph: _Graph, rows: str, fitted: Fitted) -> None:
    graph.constant("weights", fitted.weights)
    graph.constant("importance", fitted.importance)
    graph.constant("never_zero", np.array([[_NEVER_ZERO]], dtype=np.float32))
    graph.integer("runs_axis", 1)
    chosen = graph.node("Gather", ["weights", rows], "chosen_weights", axis=0)
    total = graph.node("ReduceSum", [chosen, "runs_axis"], "total", keepdims=0)
    importance = graph.node("Gather", ["importance", rows], "chosen_importance", axis=0)
    mass = graph.node("ReduceSum", [importance, "runs_axis"], "mass", keepdims=1)
    length = graph.node("Max", [graph.node("Sqrt", [mass], "root"), "never_zero"], "length")
    graph.node("Div", [total, length], OUTPUT)


def _without_padding(fitted: Fitted) -> Fitted:
    weights, importance = fitted.weights.copy(), fitted.importance.copy()
    weights[0], importance[0] = 0.0, 0.0
    return Fitted(weights, importance)


def _model(graph: _Graph, *, classes: int) -> bytes:
    ids = helper.make_tensor_value_info(INPUT, TensorProto.INT64, ["batch", "length"])
    scores = helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, ["batch", classes])
    body = helper.make_graph(graph.nodes, "intents", [ids], [scores], graph.constants)
    model = helper.make_model(body, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION)
    onnx.checker.check_model(model, full_check=True)
    content: bytes = model.SerializeToString(deterministic=True)
    return content
