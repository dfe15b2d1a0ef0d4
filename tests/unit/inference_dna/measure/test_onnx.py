from __future__ import annotations

import io
import random
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import onnx
import onnx.external_data_helper
import pytest
from onnx import TensorProto, helper

from inference_dna.canonical import Refused
from inference_dna.measure.inside import Part
from inference_dna.measure.onnx import OnnxFile, inspect_onnx
from tests.support.weights import GRAPH


def inspected(content: bytes, name: str = "model.onnx") -> OnnxFile:
    return inspect_onnx(io.BytesIO(content), name, len(content))


def tensor(name: str, **outside: object) -> TensorProto:
    """A tensor of three floats; with keywords its data lies outside, as they say."""
    made: TensorProto = helper.make_tensor(name, TensorProto.FLOAT, [3], [1.0, 2.0, 3.0])
    if outside:
        made.ClearField("float_data")
        made.data_location = TensorProto.EXTERNAL
        for key, value in outside.items():
            made.external_data.add(key=key, value=str(value))
    return made


def model(*initializers: TensorProto, nodes: tuple[Any, ...] = ()) -> Any:
    return helper.make_model(helper.make_graph(list(nodes), "g", [], [], initializer=list(initializers)))


def test_a_graph_that_holds_its_tensors_names_no_file() -> None:
    assert inspected(model(tensor("w")).SerializeToString()).external == {}
    assert inspected(GRAPH).external == {}


def test_what_onnx_itself_writes(tmp_path: Path) -> None:
    """The library's own way to keep large tensors outside."""
    large = helper.make_tensor("w", TensorProto.FLOAT, [64, 64], bytes(64 * 64 * 4), raw=True)
    onnx.save_model(
        model(large), tmp_path / "model.onnx", save_as_external_data=True, location="model.onnx_data", size_threshold=0
    )

    found = inspected((tmp_path / "model.onnx").read_bytes())

    assert found.external == {"model.onnx_data": 64 * 64 * 4}
    found.check("model.onnx", {"model.onnx_data": Part((tmp_path / "model.onnx_data").stat().st_size, None)})


def everywhere() -> Any:
    """A model with an outside tensor in every place that the format has for one."""
    below = helper.make_graph([], "below", [], [], initializer=[tensor("b", location="subgraph.bin")])
    branch = helper.make_node("If", ["c"], ["y"], then_branch=below)
    constant = helper.make_node("Constant", [], ["k"], value=tensor("k", location="attribute.bin"))
    several = helper.make_node("X", [], ["l"])
    several.attribute.append(onnx.AttributeProto(name="many", type=onnx.AttributeProto.TENSORS))
    several.attribute[0].tensors.append(tensor("t", location="tensors.bin"))
    several.attribute[0].graphs.append(
        helper.make_graph([], "g", [], [], initializer=[tensor("h", location="graphs.bin")])
    )
    several.attribute[0].sparse_tensor.CopyFrom(
        onnx.SparseTensorProto(values=tensor("v", location="values.bin"), indices=tensor("i", location="indices.bin"))
    )
    several.attribute[0].sparse_tensors.append(onnx.SparseTensorProto(values=tensor("v", location="sparse.bin")))
    made = model(tensor("w", location="initializer.bin"), nodes=(branch, constant, several))
    made.graph.sparse_initializer.append(onnx.SparseTensorProto(values=tensor("s", location="sparse_initializer.bin")))
    made.functions.add(name="f").node.append(
        helper.make_node("Constant", [], ["z"], value=tensor("z", location="function.bin"))
    )
    made.functions[0].attribute_proto.append(helper.make_attribute("d", tensor("d", location="default.bin")))
    training = made.training_info.add()
    training.initialization.initializer.append(tensor("o", location="initialization.bin"))
    training.algorithm.initializer.append(tensor("p", location="algorithm.bin"))
    return made


def test_an_outside_tensor_is_found_wherever_it_stands() -> None:
    found = inspected(everywhere().SerializeToString()).external

    assert set(found) == {
        f"{place}.bin"
        for place in (
            "subgraph", "attribute", "tensors", "graphs", "values", "indices", "sparse", "initializer",
            "sparse_initializer", "function", "default", "initialization", "algorithm",
        )
    }  # fmt: skip


def test_the_furthest_end_of_a_file_is_what_must_exist() -> None:
    tensors = (
        tensor("a", location="w.bin", offset=0, length=12),
        tensor("b", location="w.bin", offset=4096, length=12),
        tensor("c", location="./w.bin", offset=12, length=12),
    )

    assert inspected(model(*tensors).SerializeToString()).external == {"w.bin": 4108}


@pytest.mark.parametrize(
    ("outside", "why"),
    [
        pytest.param({"offset": 0}, "does not say where", id="no-location"),
        pytest.param({"location": ""}, "does not say where", id="empty-location"),
        pytest.param({"location": "w.bin", "offset": "-4"}, "states '-4' as a place", id="negative"),
        pytest.param({"location": "w.bin", "length": "9" * 30}, "as a place", id="beyond-reason"),
    ],
)
def test_a_tensor_that_does_not_say_where_its_data_lies(outside: dict[str, object], why: str) -> None:
    with pytest.raises(Refused, match=why):
        inspected(model(tensor("w", **outside)).SerializeToString())


def test_one_that_says_it_twice() -> None:
    twice = tensor("w", location="a.bin")
    twice.external_data.add(key="location", value="b.bin")

    with pytest.raises(Refused, match="says it twice"):
        inspected(model(twice).SerializeToString())


def test_one_that_is_outside_and_says_nothing() -> None:
    with pytest.raises(Refused, match="does not say where"):
        inspected(model(TensorProto(name="w", data_location=TensorProto.EXTERNAL)).SerializeToString())


PARTS = {"model.onnx": Part(10, None), "w.bin": Part(100, None), "sub/w.bin": Part(100, None)}


@pytest.mark.parametrize(
    ("name", "external"),
    [("model.onnx", {"w.bin": 100}), ("model.onnx", {"sub/w.bin": 0}), ("sub/model.onnx", {"w.bin": 100})],
)
def test_files_beside_or_below_the_graph(name: str, external: Mapping[str, int]) -> None:
    OnnxFile(external).check(name, PARTS)


@pytest.mark.parametrize(
    ("name", "location", "least", "why"),
    [
        pytest.param("model.onnx", "v.bin", 0, "not among the weight files", id="missing"),
        pytest.param("model.onnx", "w.bin", 101, "has 100 bytes, 'model.onnx' needs 101", id="too-short"),
        pytest.param("model.onnx", "/etc/passwd", 0, "leaves its folder", id="absolute"),
        pytest.param("sub/model.onnx", "../w.bin", 0, "leaves its folder", id="climbing"),
        pytest.param("model.onnx", "sub/../w.bin", 0, "leaves its folder", id="climbing-and-back"),
        pytest.param("model.onnx", "*/_ORT_MEM_ADDR_/*", 0, "not among", id="an-address-in-memory"),
    ],
)
def test_files_that_are_refused(name: str, location: str, least: int, why: str) -> None:
    with pytest.raises(Refused, match=why):
        OnnxFile({location: least}).check(name, PARTS)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        pytest.param(b"", "holds no graph", id="empty"),
        pytest.param(b"\x08\x0a", "holds no graph", id="no-graph"),
        pytest.param(b"\x38\x05", "holds no graph", id="graph-is-a-number"),
        pytest.param(GRAPH[:-2], "truncated", id="truncated"),
        pytest.param(b"PK\x03\x04" + bytes(30), "no protobuf message|no graph", id="an-archive"),
        pytest.param(b"\x80\x04\x95" + bytes(30), "no protobuf message|no graph", id="a-pickle"),
    ],
)
def test_what_is_no_onnx_model(content: bytes, why: str) -> None:
    with pytest.raises(Refused, match=why):
        inspected(content)


def test_graphs_in_graphs_without_end_are_refused() -> None:
    graph = b""
    for _ in range(100):  # graph, node, attribute, and again
        for field in (0x32, 0x2A, 0x0A):
            graph = bytes([field]) + _length(len(graph)) + graph

    with pytest.raises(Refused, match="nests deeper"):
        inspected(b"\x3a" + _length(len(graph)) + graph)


def _length(value: int) -> bytes:
    return bytes([value & 0x7F | 0x80, value >> 7 & 0x7F | 0x80, value >> 14])


@pytest.mark.parametrize("seed", range(20))
def test_no_damage_makes_it_fail_in_another_way(seed: int) -> None:
    chance, content = random.Random(seed), bytearray(everywhere().SerializeToString())
    for _ in range(seed + 1):
        content[chance.randrange(len(content))] = chance.randrange(256)
    with suppress(Refused):
        inspected(bytes(content))
