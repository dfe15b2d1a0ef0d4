"""The committed bundles are what the demo says they are."""

from __future__ import annotations

import re

import pytest

from worker.demo.accuracy import Accuracy
from worker.demo.recipes import BUNDLES, RECIPES
from worker.demo.resave import DRIFTED
from worker.demo.train import measured

NAMES = (*(recipe.version for recipe in RECIPES), DRIFTED)
PAGE = BUNDLES.parent / "README.md"


@pytest.fixture(scope="module")
def results() -> dict[str, Accuracy]:
    return {name: measured(BUNDLES / name) for name in NAMES}


def test_there_is_a_folder_for_each_and_no_other() -> None:
    assert sorted(folder.name for folder in BUNDLES.iterdir()) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_bundle_is_small(name: str) -> None:
    assert sum(path.stat().st_size for path in (BUNDLES / name).iterdir()) < 1_000_000


def test_newer_versions_are_better_and_all_are_good_enough(results: dict[str, Accuracy]) -> None:
    older, stable, candidate = (results[recipe.version].overall for recipe in RECIPES)

    assert 0.65 < older < stable < candidate
    assert stable >= 0.80


def test_the_accident_costs_english_answers_and_no_chinese_one(results: dict[str, Accuracy]) -> None:
    assert results[DRIFTED].english < results["v2.4.0"].english - 0.05
    assert results[DRIFTED].chinese == results["v2.4.0"].chinese


@pytest.mark.parametrize("name", NAMES)
def test_the_page_shows_the_measured_accuracies(name: str, results: dict[str, Accuracy]) -> None:
    (row,) = re.findall(rf"^\| `{re.escape(name)}` \|.*$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    shown = [float(cell) for cell in row.split("|")[-5:-1]]
    result = results[name]

    assert shown == [round(share, 3) for share in (result.overall, result.chinese, result.english, result.fallback)]
