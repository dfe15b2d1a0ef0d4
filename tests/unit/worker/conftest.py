"""A committed bundle, loaded once, and copies of one that a test may spoil."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from inference_dna.assurance import Assurance
from inference_dna.measure.healthz import Served
from tests.support.settled_pytorch import computing as computing
from tests.support.settled_pytorch import pytorch_as_before as pytorch_as_before
from worker.bundle import Bundle, read_bundle
from worker.demo.recipes import BUNDLES
from worker.engine import Engine, load_engine


@pytest.fixture(scope="session")
def bundle() -> Bundle:
    return read_bundle(BUNDLES / "v2.4.0")


@pytest.fixture(scope="session")
def engine(bundle: Bundle) -> Engine:
    return load_engine(bundle)


@pytest.fixture
def served() -> Served:
    return Served("intent-classifier", "v2.4.0", Assurance.FULL_HASH)


@pytest.fixture
def copied(tmp_path: Path) -> Callable[..., Path]:
    """Gives a copy of the smallest bundle; texts by file name replace what stands there."""

    def copy(**texts: str) -> Path:
        folder = tmp_path / "bundle"
        shutil.copytree(BUNDLES / "v2.3.1", folder)
        for name, text in texts.items():
            (folder / name.replace("_json", ".json").replace("_onnx", ".onnx")).write_text(text, encoding="utf-8")
        return folder

    return copy
