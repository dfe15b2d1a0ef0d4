from __future__ import annotations

from pathlib import Path

import pytest

from bench.hashing import corpus as module
from bench.hashing.corpus import SHAPES, corpus, size_of
from inference_dna.measure.folder import measure_folder


@pytest.mark.parametrize("shape", SHAPES)
def test_a_folder_is_of_the_size_asked_for_and_parses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: str
) -> None:
    monkeypatch.setattr(module, "CACHE", tmp_path)
    with corpus(shape, 0.008) as folder:
        weights = [entry for entry in measure_folder(folder).weights if entry.name.endswith(".safetensors")]

        assert len(weights) == SHAPES[shape]
        assert len({entry.sha256 for entry in weights}) == SHAPES[shape]
        assert 8_000_000 <= size_of(folder) < 8_010_000
    assert not folder.exists()
