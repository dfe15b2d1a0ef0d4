from __future__ import annotations

import pytest

from worker.demo.recipes import RECIPES, recipe


def test_versions_truly_differ() -> None:
    for first, second in ((RECIPES[0], RECIPES[1]), (RECIPES[1], RECIPES[2])):
        assert first.vocabulary != second.vocabulary
        assert first.buckets != second.buckets
        assert first.lines != second.lines
        assert first.temperature != second.temperature


def test_a_recipe_is_found_by_its_version() -> None:
    assert recipe("v2.4.0") is RECIPES[1]


def test_a_version_without_a_recipe_is_told_which_there_are() -> None:
    with pytest.raises(LookupError, match=r"v2\.3\.1, v2\.4\.0, v2\.4\.1-rc\.1"):
        recipe("v9.9.9")
