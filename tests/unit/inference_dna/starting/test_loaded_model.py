from __future__ import annotations

import pytest

from inference_dna.canonical import Refused
from inference_dna.files import TensorEntry
from inference_dna.measure.module import ModuleDigest
from inference_dna.starting.loaded_model import differing_tensors

EMBEDDING = TensorEntry("model.embed.weight", "BF16", (4, 2), "1" * 64)
NORM = TensorEntry("model.norm.weight", "BF16", (2,), "2" * 64)
FILES = (EMBEDDING, NORM)


def memory(*tensors: TensorEntry) -> ModuleDigest:
    return ModuleDigest(tensors, (), {"cpu": len(tensors)}, {})


def renamed(entry: TensorEntry, name: str) -> TensorEntry:
    return TensorEntry(name, entry.dtype, entry.shape, entry.sha256)


@pytest.mark.parametrize(
    "tensors",
    [
        pytest.param((EMBEDDING, NORM), id="the-same"),
        pytest.param((EMBEDDING, NORM, renamed(EMBEDDING, "lm_head.weight")), id="a-tied-one-under-both-names"),
        pytest.param((renamed(EMBEDDING, "embed.weight"), renamed(NORM, "norm.weight")), id="without-the-prefix"),
        pytest.param((NORM,), id="one-that-nobody-loads"),
    ],
)
def test_tensors_that_are_those_of_the_files(tensors: tuple[TensorEntry, ...]) -> None:
    assert differing_tensors(FILES, memory(*tensors)) is None


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        pytest.param(TensorEntry(NORM.name, "BF16", (2,), "3" * 64), "model.norm.weight", id="content"),
        pytest.param(TensorEntry(NORM.name, "BF16", (1, 2), "2" * 64), "model.norm.weight", id="shape"),
        pytest.param(
            TensorEntry(NORM.name, "F32", (2,), "3" * 64),
            "model.norm.weight (BF16 in the files, F32 in memory)",
            id="converted",
        ),
    ],
)
def test_tensors_that_are_not(changed: TensorEntry, told: str) -> None:
    assert differing_tensors(FILES, memory(EMBEDDING, changed)) == told


def test_many_are_told_by_their_number() -> None:
    files = [TensorEntry(f"t{number}", "F32", (), "1" * 64) for number in range(5)]
    loaded = [TensorEntry(f"t{number}", "F32", (), "2" * 64) for number in range(5)]

    assert differing_tensors(files, memory(*loaded)) == "t0, t1, t2 and 2 more"


def test_tensors_that_were_fused_while_loading_cannot_be_compared() -> None:
    fused = TensorEntry("model.experts.gate_up", "BF16", (8, 2), "4" * 64)

    with pytest.raises(Refused, match=r"experts\.gate_up.*compare_loaded=False"):
        differing_tensors(FILES, memory(EMBEDDING, NORM, fused))
