from __future__ import annotations

import hashlib
import json
import struct
import time
from pathlib import Path

import pytest

from inference_dna.assurance import Assurance
from inference_dna.canonical import Refused
from inference_dna.files import FileEntry, files_digest
from inference_dna.genome import section_digest
from inference_dna.measure.digest_cache import open_cache
from inference_dna.measure.folder import measure_folder, weights_section
from inference_dna.measure.hashing import SMALL_BYTES
from inference_dna.measure.work import Work
from tests.support.weights import GRAPH, archive

FILES = {
    "model.onnx": GRAPH,
    "config.json": b"{}",
    "tokenizer.json": b'{"model":{}}',
    "generation_config.json": b'{"temperature":0.7}',
    "README.md": b"# model",
    ".gitattributes": b"",
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def entry(name: str) -> FileEntry:
    return FileEntry(name, len(FILES[name]), hashlib.sha256(FILES[name]).hexdigest())


def test_every_file_is_hashed_in_its_place(model: Path) -> None:
    measured = measure_folder(model)

    assert measured.weights == (entry("config.json"), entry("model.onnx"))
    assert measured.tokenizer == (entry("tokenizer.json"),)
    assert measured.postprocess == (entry("generation_config.json"),)
    assert measured.ignored == (".gitattributes", "README.md")


def test_the_bytes_that_were_hashed_are_the_bytes_to_load(model: Path) -> None:
    measured = measure_folder(model, keep=["model.onnx", "tokenizer.json"])
    (model / "model.onnx").write_bytes(b"changed afterwards")

    assert measured.kept == {"model.onnx": GRAPH, "tokenizer.json": FILES["tokenizer.json"]}


@pytest.mark.parametrize("name", ["missing.onnx", "README.md"])
def test_a_file_to_load_that_was_not_measured_is_refused(model: Path, name: str) -> None:
    with pytest.raises(Refused, match="no file"):
        measure_folder(model, keep=[name])


@pytest.mark.parametrize(
    ("change", "moved"),
    [
        pytest.param(("model.onnx", GRAPH[:-1] + b"H"), "weights", id="one-flipped-bit"),
        pytest.param(("modeling_x.py", b"import os"), "weights", id="one-file-too-many"),
        pytest.param(("tokenizer.json", b"{}"), "tokenizer", id="tokenizer-re-saved"),
        pytest.param(("chat_template.jinja", b"{{ x }}"), "tokenizer", id="template-moved-to-a-file"),
        pytest.param(("generation_config.json", b"{}"), "postprocess", id="generation-defaults"),
        pytest.param(("README.md", b"# other"), "", id="ignored"),
    ],
)
def test_a_change_moves_the_place_it_is_in(model: Path, change: tuple[str, bytes], moved: str) -> None:
    before = measure_folder(model)
    (model / change[0]).write_bytes(change[1])
    after = measure_folder(model)

    places = {"weights", "tokenizer", "postprocess"}
    assert {place for place in places if getattr(before, place) != getattr(after, place)} == ({moved} - {""})


def test_excluded_weights_are_left_out_and_the_glob_enters_the_digest(model: Path) -> None:
    (model / "optimizer.pt").write_bytes(b"state")
    measured = measure_folder(model, exclude=["*.pt", "*.pt", "*.bak"])

    assert measured.weights == measure_folder(model, exclude=["optimizer*"]).weights
    assert measured.exclude == ("*.bak", "*.pt")
    assert "optimizer.pt" in measured.ignored


def test_exclusion_reaches_weights_only(model: Path) -> None:
    assert measure_folder(model, exclude=["tokenizer*"]).tokenizer == (entry("tokenizer.json"),)


@pytest.mark.parametrize("name", ["modeling_x.py", "other.jinja"])
def test_code_and_templates_cannot_be_excluded(model: Path, name: str) -> None:
    (model / name).write_bytes(b"")

    with pytest.raises(Refused, match="cannot be left out"):
        measure_folder(model, exclude=["*"])


def test_a_folder_without_weights_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(b"{}")

    with pytest.raises(Refused, match="no weights"):
        measure_folder(tmp_path)


def shard(names: list[str]) -> bytes:
    header = {name: {"dtype": "U8", "shape": [1], "data_offsets": [n, n + 1]} for n, name in enumerate(names)}
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(len(names))


def test_shards_and_index_are_checked_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "a.safetensors").write_bytes(shard(["w1", "w2"]))
    (tmp_path / "b.safetensors").write_bytes(shard(["w3"]))
    weight_map = {"w1": "a.safetensors", "w2": "a.safetensors", "w3": "b.safetensors"}
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": weight_map}), encoding="utf-8")
    assert len(measure_folder(tmp_path).weights) == 3

    index.write_text(json.dumps({"weight_map": weight_map | {"w4": "b.safetensors"}}), encoding="utf-8")
    with pytest.raises(Refused, match="'w4'"):
        measure_folder(tmp_path)


def test_a_broken_shard_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.safetensors").write_bytes(bytes(100))

    with pytest.raises(Refused, match=r"a\.safetensors"):
        measure_folder(tmp_path)


def test_the_weights_section_says_what_was_measured(model: Path) -> None:
    measured = measure_folder(model)
    section = weights_section(
        measured,
        format_name="onnx",
        load={"dtype": "float32", "quantization": None},
        evidence={"source": "bundle"},
    )

    assert section["evidence"] == {"ignored": [".gitattributes", "README.md"], "source": "bundle"}
    assert section["exclude"] == section["adapters"] == []
    assert section["files"] == [entry("config.json").document(), entry("model.onnx").document()]
    assert len(files_digest(measured.weights)) == len(section_digest("weights", section)) == 64


def test_a_digest_from_an_earlier_time_lowers_the_assurance(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.bin").write_bytes(bytes(SMALL_BYTES))
    (folder / "config.json").write_bytes(b"{}")
    work = Work(cache=open_cache(tmp_path / "cache", lambda: time.time() + 60))
    first, second = measure_folder(folder, work=work), measure_folder(folder, work=work)

    assert (first.assurance, first.cached) == (Assurance.FULL_HASH, ())
    assert (second.assurance, second.cached) == (Assurance.STAT_CACHED, ("model.bin",))
    assert first.weights == second.weights


def test_the_sources_inside_an_archive_are_told_beside_the_weights(tmp_path: Path) -> None:
    source = b"def forward(x):\n  return x\n"
    members = {"m/data.pkl": b"", "m/constants.pkl": b"", "m/code/__torch__.py": source}
    archive(tmp_path / "generator_v2.4.0.ts", members)
    measured = measure_folder(tmp_path)

    assert measured.form == "torchscript"
    assert measured.code == {
        "generator_v2.4.0.ts": (FileEntry("code/__torch__.py", len(source), hashlib.sha256(source).hexdigest()),)
    }
