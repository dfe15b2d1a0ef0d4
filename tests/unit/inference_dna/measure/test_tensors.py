from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from inference_dna.canonical import Refused
from inference_dna.files import files_digest, tensors_digest
from inference_dna.measure.folder import ModelFolder, measure_folder, measure_model, weights_section
from inference_dna.measure.listing import list_folder
from inference_dna.measure.parts import look
from inference_dna.measure.tensors import hash_tensors, tensors_evidence
from inference_dna.measure.work import Done, Work
from tests.support.weights import index, safetensors

TENSORS = {"a": b"abc", "b": os.urandom(700_000), "empty": b""}


def model(folder: Path, **files: bytes) -> Path:
    folder.mkdir()
    for name, content in files.items():
        (folder / f"{name}.safetensors").write_bytes(content)
    return folder


def measured(folder: Path) -> ModelFolder:
    return measure_folder(folder, work=Work(2, tensors=True))


def digest(folder: Path) -> str:
    tensors = measured(folder).tensors
    assert tensors is not None
    return tensors_digest(tensors)


def test_the_same_tensors_in_other_files_have_the_same_digest(tmp_path: Path) -> None:
    reversed_order = dict(reversed(TENSORS.items()))
    one = model(tmp_path / "one", model=safetensors(TENSORS))
    others = [
        model(tmp_path / "other-header", model=safetensors(TENSORS, metadata={"format": "pt"})),
        model(tmp_path / "other-order", model=safetensors(reversed_order)),
        model(tmp_path / "shards", x=safetensors({"a": b"abc"}), y=safetensors({"b": TENSORS["b"], "empty": b""})),
        model(tmp_path / "both", whole=safetensors(TENSORS), x=safetensors({"a": b"abc"})),
    ]

    for other in others:
        assert digest(other) == digest(one)
        assert files_digest(measured(other).weights) != files_digest(measured(one).weights)


@pytest.mark.parametrize(
    "tensors",
    [
        pytest.param({**TENSORS, "a": b"abd"}, id="one-byte"),
        pytest.param({"A": TENSORS["a"], "b": TENSORS["b"], "empty": b""}, id="one-name"),
        pytest.param({"a": TENSORS["a"], "b": TENSORS["b"]}, id="one-less"),
    ],
)
def test_other_tensors_have_another(tmp_path: Path, tensors: dict[str, bytes]) -> None:
    one = model(tmp_path / "one", model=safetensors(TENSORS))
    other = model(tmp_path / "other", model=safetensors(tensors))

    assert digest(one) != digest(other)


def test_shards_that_contradict_each_other_have_none(tmp_path: Path) -> None:
    folder = model(tmp_path / "m", x=safetensors({"a": b"abc"}), y=safetensors({"a": b"abd"}))

    assert measured(folder).tensors is None
    assert tensors_evidence(None) == {}


def test_a_folder_without_safetensors_has_none(tmp_path: Path) -> None:
    (tmp_path / "flax_model.msgpack").write_bytes(b"x")

    assert measured(tmp_path).tensors is None


def test_it_is_evidence_and_does_not_move_the_section(tmp_path: Path) -> None:
    folder = model(tmp_path / "m", model=safetensors(TENSORS))
    with_tensors, without = (
        weights_section(each, format_name="safetensors", load={}) for each in (measured(folder), measure_model(folder))
    )

    assert with_tensors["evidence"] == {"ignored": [], "tensors": "sha256:" + digest(folder)}
    assert without["evidence"] == {"ignored": []}
    assert with_tensors["files"] == without["files"]


def test_progress_counts_tensors_on_their_own(tmp_path: Path) -> None:
    seen: list[Done] = []
    measure_folder(model(tmp_path / "m", model=safetensors(TENSORS)), work=Work(watch=seen.append, tensors=True))

    assert {done.what for done in seen} == {"files", "tensors"}
    assert seen[-1] == Done(700_003, 700_003, "tensors")


def test_a_file_that_changed_since_it_was_looked_into_is_refused(tmp_path: Path) -> None:
    folder = model(tmp_path / "m", model=safetensors(TENSORS))
    looked = look(list_folder(folder))
    os.utime(folder / "model.safetensors", ns=(1, 1))

    with pytest.raises(Refused, match="changed while it was read"):
        hash_tensors(looked, Work())


@pytest.mark.models
def test_what_the_library_saves_again_is_the_same_tensors(tmp_path: Path) -> None:
    torch: Any = pytest.importorskip("torch")
    library: Any = pytest.importorskip("safetensors.torch")
    tensors = {"w": torch.randn(4, 5), "half": torch.ones(3, dtype=torch.bfloat16), "scalar": torch.tensor(2.5)}
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    library.save_file(tensors, tmp_path / "one" / "model.safetensors")
    for name, tensor in tensors.items():
        library.save_file({name: tensor}, tmp_path / "two" / f"{name}.safetensors", metadata={"format": "pt"})
    weight_map = {name: f"{name}.safetensors" for name in tensors}
    (tmp_path / "two" / "model.safetensors.index.json").write_bytes(index(weight_map))

    assert digest(tmp_path / "one") == digest(tmp_path / "two")


def test_many_small_tensors_are_hashed_like_few_large_ones(tmp_path: Path) -> None:
    """Small ones are read in runs of a megabyte; each has its own digest all the same, at the seams too."""
    tensors = {f"t{n}": os.urandom(size) for n, size in enumerate([400_000] * 7 + [0, 0, 2_000_000, 3, 0])}
    hashed = measured(model(tmp_path / "m", model=safetensors(tensors))).tensors
    assert hashed is not None

    assert {entry.name: entry.sha256 for entry in hashed} == {
        name: sha256(content).hexdigest() for name, content in tensors.items()
    }
