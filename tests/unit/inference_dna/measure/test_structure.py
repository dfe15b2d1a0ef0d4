from __future__ import annotations

import io
import pickle

import pytest

from inference_dna.canonical import Refused
from inference_dna.measure.inside import Part
from inference_dna.measure.structure import UNKNOWN, check_parts, format_of, inspect
from tests.support.weights import GRAPH, gguf, index, safetensors

CONTENT = {
    "model.safetensors": safetensors({"w": b"abc"}),
    "model.gguf": gguf(),
    "model.onnx": GRAPH,
    "model.safetensors.index.json": index({"w": "model.safetensors"}),
}


def part(name: str, content: bytes) -> Part:
    return Part(len(content), inspect(io.BytesIO(content), name, len(content)))


def parts(*names: str) -> dict[str, Part]:
    return {name: part(name, CONTENT.get(name.rpartition("/")[2], b"plain")) for name in names}


@pytest.mark.parametrize("name", [name for name in CONTENT if not name.endswith(".json")] + ["model.pt", "model.ts"])
def test_a_pickle_in_place_of_weights_is_refused_whatever_its_name(name: str) -> None:
    with pytest.raises(Refused, match=name):
        part(name, pickle.dumps({"w": [1.0] * 100}))


@pytest.mark.parametrize("name", [*CONTENT, "pytorch_model.bin", "model.pt", "openvino_model.bin"])
def test_a_pointer_in_place_of_a_file_says_what_to_do(name: str) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"

    with pytest.raises(Refused, match="run `git lfs pull`"):
        part(name, pointer)


@pytest.mark.parametrize("name", ["params.json", "modeling_x.py", "model.msgpack", "flax_model.h5"])
def test_files_of_other_formats_are_left_to_their_hash(name: str) -> None:
    assert part(name, b"anything") == Part(8, None)


def test_files_are_judged_by_what_they_say_of_each_other() -> None:
    check_parts(parts(*CONTENT))

    with pytest.raises(Refused, match=r"missing: 'model\.safetensors'"):
        check_parts(parts("model.safetensors.index.json", "model.gguf"))
    with pytest.raises(Refused, match="not complete"):
        check_parts(parts("m-00001-of-00002.bin"))


@pytest.mark.parametrize(
    ("names", "form"),
    [
        pytest.param(["params.json", "model.safetensors"], "safetensors", id="one"),
        pytest.param(["model.onnx", "model.safetensors", "model.gguf"], "safetensors", id="what-engines-prefer"),
        pytest.param(["onnx/model.onnx", "model.gguf"], "gguf", id="nearest-to-the-top"),
        pytest.param(["onnx/model.onnx"], "onnx", id="below"),
        pytest.param(["model.plan"], "tensorrt", id="an-engines-plan"),
        pytest.param(["model.h5", "params.json"], UNKNOWN, id="nothing-known"),
    ],
)
def test_the_format_is_the_one_an_engine_would_load(names: list[str], form: str) -> None:
    assert format_of(parts(*names)) == form


@pytest.mark.parametrize(
    ("content", "why"),
    [
        pytest.param(b"", "'sub/config.json' is no JSON", id="empty"),
        pytest.param(b"\xff\xfe", "is no JSON", id="no-text"),
        pytest.param(b"[]", "is no JSON object", id="list"),
        pytest.param(b"[" * 100_000, "is no JSON", id="deep"),
        pytest.param(b'{"a": {"b": 1, "b": 2}}', "'sub/config.json' says 'b' twice", id="twice"),
    ],
)
def test_a_configuration_that_engines_read_differently_is_refused(content: bytes, why: str) -> None:
    with pytest.raises(Refused, match=why):
        inspect(io.BytesIO(content), "sub/config.json", len(content))


def test_a_configuration_may_hold_what_real_ones_hold() -> None:
    content = b'{"time_step_limit": [0.0, Infinity], "dropout": -0.0}'

    assert inspect(io.BytesIO(content), "config.json", len(content)) is None


def test_an_index_beyond_reason_is_not_read() -> None:
    with pytest.raises(Refused, match="more than 100 MB are not read"):
        inspect(io.BytesIO(b"{}"), "model.safetensors.index.json", 100_000_001)
