from __future__ import annotations

import io
import json
import struct
from typing import Any

import pytest

from inference_dna.canonical import Refused
from inference_dna.measure.safetensors import check_index, read_tensor_names


def safetensors(header: Any, data: bytes = b"", padding: int = 0) -> bytes:
    text = (header if isinstance(header, bytes) else json.dumps(header).encode()) + b" " * padding
    return struct.pack("<Q", len(text)) + text + data


def tensor(start: int, end: int) -> dict[str, Any]:
    return {"dtype": "U8", "shape": [end - start], "data_offsets": [start, end]}


def names_in(content: bytes) -> frozenset[str]:
    return read_tensor_names(io.BytesIO(content), "m.safetensors", len(content))


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
        pytest.param(safetensors({"a": 1}), "no data_offsets", id="tensor-is-a-number"),
        pytest.param(safetensors({"a": {"data_offsets": [0]}}), "no data_offsets", id="one-offset"),
        pytest.param(safetensors({"a": tensor(1, 2)}, b"ab"), "hole or overlap at byte 0", id="hole-at-the-start"),
        pytest.param(safetensors({"a": tensor(0, 1), "b": tensor(2, 3)}, b"abc"), "at byte 1", id="hole"),
        pytest.param(safetensors({"a": tensor(0, 2), "b": tensor(1, 3)}, b"abc"), "at byte 1", id="overlap"),
        pytest.param(safetensors({"a": {"data_offsets": [0, -1]}}), "hole or overlap", id="backwards"),
        pytest.param(safetensors({"a": tensor(0, 2)}, b"abc"), "cover 2 bytes, the file holds 3", id="more-data"),
        pytest.param(safetensors({"a": tensor(0, 4)}, b"abc"), "cover 4 bytes, the file holds 3", id="truncated"),
    ],
)
def test_a_file_that_does_not_parse_is_refused(content: bytes, why: str) -> None:
    with pytest.raises(Refused, match=why):
        names_in(content)


SHARDS = {"a.safetensors": frozenset({"w1", "w2"}), "b.safetensors": frozenset({"w3"})}
MAP = {"w1": "a.safetensors", "w2": "a.safetensors", "w3": "b.safetensors"}


def index(weight_map: Any) -> bytes:
    return json.dumps({"metadata": {"total_size": 3}, "weight_map": weight_map}).encode()


def test_an_index_that_agrees_with_its_shards() -> None:
    check_index("model.safetensors.index.json", index(MAP), SHARDS, SHARDS)


def test_an_index_names_shards_beside_itself() -> None:
    below = {f"unet/{name}": tensors for name, tensors in SHARDS.items()}

    check_index("unet/model.safetensors.index.json", index(MAP), below, below)


def test_shards_of_another_kind_need_only_be_there() -> None:
    """A pickle is never opened in order to measure it."""
    check_index("pytorch_model.bin.index.json", index({"w1": "a.bin"}), ["a.bin"], {})


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
        check_index("model.safetensors.index.json", content, SHARDS, SHARDS)
