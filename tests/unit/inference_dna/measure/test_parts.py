from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from inference_dna.canonical import Refused
from inference_dna.files import FileEntry
from inference_dna.genome import section_digest
from inference_dna.measure.folder import measure_file, measure_model, weights_section
from inference_dna.measure.parts import find_parts
from tests.support.weights import gguf, index, safetensors


def split(number: int, count: int, total: int) -> bytes:
    return gguf((("split.no", number), ("split.count", count), ("split.tensors.count", total)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder where many models lie beside each other."""
    (tmp_path / "small.gguf").write_bytes(gguf())
    for number in range(2):
        (tmp_path / f"large-0000{number + 1}-of-00002.gguf").write_bytes(split(number, 2, 4))
    (tmp_path / "a.safetensors").write_bytes(safetensors({"a": b"abc"}))
    (tmp_path / "b.safetensors").write_bytes(safetensors({"b": b"abc"}))
    (tmp_path / "model.safetensors.index.json").write_bytes(index({"a": "a.safetensors", "b": "b.safetensors"}))
    (tmp_path / "model.bin").write_bytes(b"weights of another tool")
    return tmp_path


def names(path: Path) -> list[str]:
    return [entry.name for entry in measure_file(path).weights]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("small.gguf", ["small.gguf"], id="alone"),
        pytest.param("large-00002-of-00002.gguf", [f"large-0000{n}-of-00002.gguf" for n in (1, 2)], id="a-split"),
        pytest.param(
            "model.safetensors.index.json",
            ["a.safetensors", "b.safetensors", "model.safetensors.index.json"],
            id="an-index-and-its-shards",
        ),
        pytest.param("model.bin", ["model.bin"], id="unknown-format"),
    ],
)
def test_a_file_is_measured_with_what_it_cannot_be_loaded_without(folder: Path, name: str, expected: list[str]) -> None:
    assert names(folder / name) == expected


def test_external_data_belongs_to_the_graph(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    weight = onnx.helper.make_tensor("w", onnx.TensorProto.FLOAT, [64], bytes(256), raw=True)
    graph = onnx.helper.make_graph([], "g", [], [], initializer=[weight])
    onnx.save_model(
        onnx.helper.make_model(graph), tmp_path / "m.onnx", save_as_external_data=True, location="m.data",
        size_threshold=0,
    )  # fmt: skip
    (tmp_path / "other.data").write_bytes(b"not ours")

    assert names(tmp_path / "m.onnx") == ["m.data", "m.onnx"]
    (tmp_path / "m.data").unlink()
    with pytest.raises(Refused, match=r"'m\.onnx' cannot be loaded without 'm\.data', which is missing"):
        measure_file(tmp_path / "m.onnx")


def test_a_missing_part_is_refused(folder: Path) -> None:
    (folder / "large-00001-of-00002.gguf").unlink()

    with pytest.raises(Refused, match=r"cannot be loaded without 'large-00001-of-00002\.gguf'"):
        measure_file(folder / "large-00002-of-00002.gguf")


def test_what_it_names_may_not_lie_outside(folder: Path) -> None:
    inner = folder / "inner"
    inner.mkdir()
    (inner / "model.safetensors.index.json").write_bytes(index({"a": "a.safetensors"}))
    (inner / "a.safetensors").symlink_to("../a.safetensors")
    with pytest.raises(Refused, match="leaves the model folder"):
        measure_file(inner / "model.safetensors.index.json")

    (inner / "model.safetensors.index.json").write_bytes(index({"a": "../a.safetensors"}))
    with pytest.raises(Refused, match=r"`\.\.` component"):
        measure_file(inner / "model.safetensors.index.json")


def test_a_file_of_a_hub_cache_is_followed_and_keeps_its_name(tmp_path: Path) -> None:
    snapshot = tmp_path / "models--org--m" / "snapshots" / "5f1d2c9"
    blobs = tmp_path / "models--org--m" / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    for number in range(2):
        (blobs / f"91a{number}").write_bytes(split(number, 2, 4))
        (snapshot / f"m-0000{number + 1}-of-00002.gguf").symlink_to(f"../../blobs/91a{number}")

    assert names(snapshot / "m-00001-of-00002.gguf") == [f"m-0000{n}-of-00002.gguf" for n in (1, 2)]


def test_the_section_says_that_it_is_a_file(folder: Path) -> None:
    measured = measure_model(folder / "small.gguf", keep=["small.gguf"])
    section = weights_section(measured, format_name=measured.form, load={"dtype": "q8_0", "quantization": "Q8_0"})
    content = (folder / "small.gguf").read_bytes()

    assert measured.kept == {"small.gguf": content}
    assert measured.weights == (FileEntry("small.gguf", len(content), hashlib.sha256(content).hexdigest()),)
    assert (section["kind"], section["format"], section["rule"]) == ("file", "gguf", None)
    assert len(section_digest("weights", section)) == 64


def test_a_file_of_its_own_has_nothing_to_leave_out(folder: Path) -> None:
    with pytest.raises(Refused, match="is a single file"):
        measure_model(folder / "small.gguf", exclude=["*.bin"])


def test_a_model_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="No such file"):
        measure_model(tmp_path / "missing.gguf")


def test_a_folder_is_measured_as_one(folder: Path) -> None:
    assert measure_model(folder).kind == "folder"


def test_an_index_that_names_itself_ends(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors.index.json"
    path.write_bytes(index({"a": path.name}))

    assert set(find_parts(path)) == {path.name}
