from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from inference_dna.canonical import Refused
from inference_dna.genome import genome
from inference_dna.measure.at_rest import ASKED_FILES, measure_at_rest
from inference_dna.measure.folder import measure_model
from tests.support.manifests import write_folder
from tests.support.weights import archive, gguf, safetensors

WEIGHTS = {"model.safetensors": safetensors({"w": b"1234"})}


def measured(root: Path, *, ask: bool | None = None) -> dict[str, Any]:
    present = [name for name in ASKED_FILES if (root / name).is_file()] if root.is_dir() else []
    document: dict[str, Any] = measure_at_rest(
        measure_model(root, keep=present), environ={"OMP_NUM_THREADS": "2"}, ask=ask
    )
    assert genome(document).digests.dna()
    return document


def sentencepiece_model() -> bytes:
    import sentencepiece

    made = io.BytesIO()
    text = iter(["hello world", "a b c d e f g h", "hello again"] * 20)
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=text, model_writer=made, vocab_size=20, minloglevel=2)
    return made.getvalue()


def test_a_sentencepiece_model_is_asked(tmp_path: Path) -> None:
    document = measured(write_folder(tmp_path, {**WEIGHTS, "tokenizer.model": sentencepiece_model()}))

    assert document["tokenizer"]["kind"] == "sentencepiece"
    assert len(document["tokenizer"]["probe"]["ids"]) == 64


def test_a_tokenizer_inside_the_weights_cannot_be_asked(tmp_path: Path) -> None:
    file = write_folder(tmp_path, {"model.gguf": gguf()}) / "model.gguf"

    section = measured(file)["tokenizer"]
    assert (section["kind"], section["probe"], section["settings"]) == ("embedded", None, None)
    assert section["evidence"] == {"unasked": "it lies inside the weights, and no engine was loaded"}
    assert measured(file)["weights"]["kind"] == "file"


def test_post_processing_inside_an_archive_is_told_by_its_code(tmp_path: Path) -> None:
    sections = []
    for number in (1, 2):
        members = {"m/constants.pkl": b"x", "m/data.pkl": b"x", "m/code/m.py": f"x = {number}".encode()}
        sections.append(measured(archive(tmp_path / f"{number}.ts", members))["postprocess"])

    assert [section["kind"] for section in sections] == ["embedded", "embedded"]
    assert list(sections[0]["code"]) == ["1.ts"]
    assert sections[0]["code"]["1.ts"] != sections[1]["code"]["2.ts"]


def test_the_environment_that_shapes_computation_is_in_it(tmp_path: Path) -> None:
    assert measured(write_folder(tmp_path, WEIGHTS))["framework"]["env"] == {"OMP_NUM_THREADS": "2"}


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer.model"])
def test_a_tokenizer_that_cannot_be_loaded_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="cannot be loaded as a tokenizer"):
        measured(write_folder(tmp_path, {**WEIGHTS, name: b"nonsense"}))


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer.model"])
def test_an_empty_tokenizer_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(Refused, match=f"'{name}' is empty"):
        measured(write_folder(tmp_path, {**WEIGHTS, name: b""}))


def test_files_that_no_library_loads_by_themselves_were_not_asked(tmp_path: Path) -> None:
    root = write_folder(tmp_path, {**WEIGHTS, "vocab.txt": b"a\n"})

    section = measured(root)["tokenizer"]
    assert section["probe"] is None
    assert section["evidence"] == {"unasked": "none of its files can be loaded by itself"}
    with pytest.raises(Refused, match="cannot be asked the probe: none of its files"):
        measured(root, ask=True)
