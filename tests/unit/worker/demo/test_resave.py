from __future__ import annotations

import json
from pathlib import Path

import pytest

from worker.bundle import read_bundle
from worker.demo.recipes import BUNDLES
from worker.demo.resave import DRIFTED, RESAVED_FROM, resave
from worker.engine import load_engine


@pytest.fixture
def drifted(tmp_path: Path) -> Path:
    resave(BUNDLES / RESAVED_FROM, tmp_path / DRIFTED)
    return tmp_path / DRIFTED


def test_everything_but_the_tokenizer_is_byte_for_byte_the_same(drifted: Path) -> None:
    names = {path.name for path in drifted.iterdir()}
    changed = {name for name in names if (drifted / name).read_bytes() != (BUNDLES / RESAVED_FROM / name).read_bytes()}

    assert changed == {"tokenizer.json", "tokenizer_config.json"}


def test_the_manifest_stays_behind(drifted: Path) -> None:
    assert not (drifted / "manifest.json").exists()


def test_vocabulary_and_merges_are_the_same(drifted: Path) -> None:
    before, after = (
        json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
        for folder in (BUNDLES / RESAVED_FROM, drifted)
    )

    assert before["model"] == after["model"]
    assert before["normalizer"] != after["normalizer"]


def test_small_letters_and_chinese_are_read_as_before_and_capitals_are_not(drifted: Path) -> None:
    good, bad = (load_engine(read_bundle(folder)).tokenizer for folder in (BUNDLES / RESAVED_FROM, drifted))

    assert good.encode("where is my refund, 我要退款") == bad.encode("where is my refund, 我要退款")
    assert good.encode("Where") != bad.encode("Where")


def test_the_committed_folder_is_what_the_accident_makes(drifted: Path) -> None:
    committed = {path.name: path.read_bytes() for path in (BUNDLES / DRIFTED).iterdir()}

    assert committed == {path.name: path.read_bytes() for path in drifted.iterdir()}
