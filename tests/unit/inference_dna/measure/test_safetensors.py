from __future__ import annotations

import io
import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from inference_dna.canonical import Refused
from inference_dna.measure.inside import Part
from inference_dna.measure.safetensors import DTYPE_BITS, inspect_index, inspect_safetensors


def safetensors(header: Any, data: bytes = b"", padding: int = 0) -> bytes:
    text = (header if isinstance(header, bytes) else json.dumps(header).encode()) + b" " * padding
    return struct.pack("<Q", len(text)) + text + data


def tensor(start: int, end: int) -> dict[str, Any]:
    return {"dtype": "U8", "shape": [end - start], "data_offsets": [start, end]}


def names_in(content: bytes) -> frozenset[str]:
    return inspect_safetensors(io.BytesIO(content), "m.safetensors", len(content)).tensors


@pytest.mark.parametrize(
    ("header", "data", "names"),
    [
        pytest.param({"a": tensor(0, 2), "b": tensor(2, 3)}, b"abc", {"a", "b"}, id="in-order"),
        pytest.param({"b": tensor(2, 3), "a": tensor(0, 2)}, b"abc", {"a", "b"}, id="in-any-order"),
        pytest.param(
            {"a": tensor(0, 2), "e": tensor(2, 2), "b": tensor(2, 3)}, b"abc", {"a", "b", "e"}, id="empty-one"
        ),
        pytest.param({"__metadata__": {"format": "pt"}, "a": tensor(0, 1)}, b"x", {"a"}, id="metadata-is-no-tensor"),
        pytest.param({}, b"", set(), id="no-tensors"),
    ],
)
def test_a_file_that_parses(header: Any, data: bytes, names: set[str]) -> None:
    assert names_in(safetensors(header, data)) == names
    assert names_in(safetensors(header, data, padding=7)) == names


@pytest.mark.parametrize(
    ("content", "why"),
    [
        pytest.param(b"", "length", id="empty"),
        pytest.param(b"\x02\0\0", "length", id="shorter-than-a-length"),
        pytest.param(bytes(64), "length", id="zeroed-header"),
        pytest.param(struct.pack("<Q", 500) + b"{}", "length", id="length-beyond-the-end"),
        pytest.param(struct.pack("<Q", 2**63) + b"{}", "length", id="length-beyond-reason"),
        pytest.param(safetensors(b"[]"), "no JSON object", id="a-list"),
        pytest.param(safetensors(b" {}"), "no JSON object", id="padded-in-front"),
        pytest.param(safetensors(b'{"a":1,"a":2}'), "stands twice", id="one-name-twice"),
        pytest.param(safetensors({"a": 1}), "no dtype, shape and data_offsets", id="tensor-is-a-number"),
        pytest.param(safetensors({"a": tensor(0, 1) | {"data_offsets": [0]}}, b"a"), "data_offsets", id="one-offset"),
        pytest.param(safetensors({"a": tensor(1, 2)}, b"ab"), "hole or overlap at byte 0", id="hole-at-the-start"),
        pytest.param(safetensors({"a": tensor(0, 1), "b": tensor(2, 3)}, b"abc"), "at byte 1", id="hole"),
        pytest.param(safetensors({"a": tensor(0, 2), "b": tensor(1, 3)}, b"abc"), "at byte 1", id="overlap"),
        pytest.param(
            safetensors({"a": {"dtype": "X", "shape": [1], "data_offsets": [0, -1]}}), "hole or overlap", id="backwards"
        ),
        pytest.param(safetensors({"a": tensor(0, 2)}, b"abc"), "holds 3; something was appended", id="more-data"),
        pytest.param(safetensors({"a": tensor(0, 4)}, b"abc"), "holds 3; it may be truncated", id="truncated"),
        pytest.param(safetensors({"a": tensor(0, 2) | {"shape": [3]}}, b"ab"), "do not fit its dtype", id="shape"),
        pytest.param(safetensors({"a": tensor(0, 2) | {"dtype": "F32"}}, b"ab"), "do not fit its dtype", id="dtype"),
        pytest.param(safetensors({"a": tensor(0, 2) | {"shape": [-2]}}, b"ab"), "no integers from 0", id="negative"),
        pytest.param(safetensors({"a": tensor(0, 1) | {"shape": [True]}}, b"a"), "no integers from 0", id="boolean"),
        pytest.param(b"\x80\x05\x95" + bytes(40), "length", id="a-pickle"),
        pytest.param(b"PK\x03\x04" + bytes(40), "length", id="an-archive"),
    ],
)
def test_a_file_that_does_not_parse_is_refused(content: bytes, why: str) -> None:
    with pytest.raises(Refused, match=why):
        names_in(content)


def test_places_are_those_of_the_file_itself() -> None:
    content = safetensors({"b": tensor(1, 3), "a": tensor(0, 1)}, b"abb")
    places = inspect_safetensors(io.BytesIO(content), "m.safetensors", len(content)).places

    assert [(place.name, content[place.start : place.end]) for place in places] == [("a", b"a"), ("b", b"bb")]


@pytest.mark.models
def test_every_dtype_that_the_library_writes_is_known(tmp_path: Path) -> None:
    """The sizes in our table are those of the library that defines the format."""
    torch = pytest.importorskip("torch")
    save_file = pytest.importorskip("safetensors.torch").save_file
    dtypes = {
        "BOOL": torch.bool, "U8": torch.uint8, "I8": torch.int8, "F8_E4M3": torch.float8_e4m3fn,
        "F8_E5M2": torch.float8_e5m2, "I16": torch.int16, "U16": torch.uint16, "F16": torch.float16,
        "BF16": torch.bfloat16, "I32": torch.int32, "U32": torch.uint32, "F32": torch.float32, "I64": torch.int64,
        "U64": torch.uint64, "F64": torch.float64, "C64": torch.complex64,
    }  # fmt: skip
    path = tmp_path / "all.safetensors"
    save_file({name: torch.ones(3).to(dtype) for name, dtype in dtypes.items()}, path)

    with path.open("rb") as stream:
        found = inspect_safetensors(stream, path.name, path.stat().st_size)

    assert {place.name: place.dtype for place in found.places} == {name: name for name in dtypes}
    assert all((place.end - place.start) * 8 == 3 * DTYPE_BITS[place.dtype] for place in found.places)


def shard(*names: str) -> Part:
    content = safetensors({name: tensor(n, n + 1) for n, name in enumerate(names)}, bytes(len(names)))
    return Part(len(content), inspect_safetensors(io.BytesIO(content), "shard", len(content)))


SHARDS = {"a.safetensors": shard("w1", "w2"), "b.safetensors": shard("w3")}
MAP = {"w1": "a.safetensors", "w2": "a.safetensors", "w3": "b.safetensors"}


def index(weight_map: Any) -> bytes:
    return json.dumps({"metadata": {"total_size": 3}, "weight_map": weight_map}).encode()


def check(name: str, content: bytes, parts: Mapping[str, Part]) -> None:
    inspect_index(content, name).check(name, parts)


def test_an_index_that_agrees_with_its_shards() -> None:
    check("model.safetensors.index.json", index(MAP), SHARDS)


def test_an_index_names_shards_beside_itself() -> None:
    below = {f"unet/{name}": part for name, part in SHARDS.items()}

    check("unet/model.safetensors.index.json", index(MAP), below)


def test_shards_of_another_kind_need_only_be_there() -> None:
    """A pickle is never opened in order to measure it."""
    check("pytorch_model.bin.index.json", index({"w1": "a.bin"}), {"a.bin": Part(3, None)})


@pytest.mark.parametrize(
    ("content", "why"),
    [
        pytest.param(index(MAP | {"w9": "c.safetensors"}), "missing: 'c.safetensors'", id="shard-missing"),
        pytest.param(index(MAP | {"w9": "../a.safetensors"}), "missing", id="shard-outside"),
        pytest.param(index(MAP | {"w9": "b.safetensors"}), "tensors 'w9'", id="tensor-no-shard-has"),
        pytest.param(index(MAP | {"w3": "a.safetensors"}), "tensors 'w3'", id="tensor-in-another-shard"),
        pytest.param(index({"w1": "a.safetensors", "w3": "b.safetensors"}), "tensors 'w2'", id="tensor-unnamed"),
        pytest.param(index(MAP | {f"x{n}": "b.safetensors" for n in range(7)}), "'x4' and 2 more", id="many"),
        pytest.param(index(["w1"]), "no weight_map", id="map-is-a-list"),
        pytest.param(index({"w1": 1}), "no weight_map", id="shard-is-a-number"),
        pytest.param(b"[]", "no weight_map", id="index-is-a-list"),
        pytest.param(b"", "cannot be read", id="empty"),
    ],
)
def test_an_index_that_disagrees_is_refused(content: bytes, why: str) -> None:
    with pytest.raises(Refused, match=why):
        check("model.safetensors.index.json", content, SHARDS)
