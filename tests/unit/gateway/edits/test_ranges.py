"""Which ranges stand for all that can be asked for by range."""

from __future__ import annotations

import pytest

from contracts.selector import Range, parse_selector
from contracts.version import LONGEST, Version
from gateway.edits.ranges import MOST_VERSIONS, telling_ranges


def versions(*texts: str) -> list[Version]:
    return [Version.parse(text) for text in texts]


def matched(text: str, among: list[Version]) -> frozenset[Version]:
    selector = parse_selector(text)
    assert isinstance(selector, Range)
    return frozenset(filter(selector.matches, among))


@pytest.mark.parametrize(
    ("among", "told"),
    [
        pytest.param([], [], id="no-versions-no-ranges"),
        pytest.param(["1.0.0"], ["^1"], id="one-version-is-one-choice"),
        pytest.param(["1.0.0", "1.1.0"], ["^1", "^1.1", "~1.0"], id="two-minors"),
        pytest.param(["1.0.0", "1.0.1"], ["^1", "^1.0.1", "<=1.0.0"], id="two-patches"),
        pytest.param(["1.0.0", "2.0.0"], ["^2", "^1", "*"], id="two-majors"),
        pytest.param(["0.2.0", "0.3.0"], ["^0", "^0.3", "^0.2"], id="below-one-the-minor-counts"),
        pytest.param(["1.0.0-rc.1"], ["^1.0.0-rc.1"], id="a-pre-release-only-where-it-is-named"),
        pytest.param(["1.0.0", "1.1.0-rc.1"], ["^1", "^1.1.0-rc.1", "<=1.1.0-rc.1"], id="and-beside-a-release"),
        pytest.param(["1.0.0", "1.0.0+cu12"], ["^1"], id="builds-cannot-be-told-apart-by-range"),
    ],
)
def test_the_plainest_text_of_each_choice(among: list[str], told: list[str]) -> None:
    assert list(telling_ranges(versions(*among))) == told


MANY = versions("0.1.0", "0.1.1", "1.0.0", "1.0.3", "1.1.0", "1.2.0-rc.1", "1.2.0", "2.0.0", "2.1.0-a.1")


def test_no_two_ask_for_the_same_and_none_for_nothing() -> None:
    choices = [matched(text, MANY) for text in telling_ranges(MANY)]

    assert len(set(choices)) == len(choices)
    assert all(choices)


def test_every_version_is_the_highest_and_the_lowest_of_some_range() -> None:
    choices = [sorted(matched(text, MANY), key=lambda one: one.precedence) for text in telling_ranges(MANY)]

    assert {choice[0] for choice in choices} == set(MANY)
    assert {choice[-1] for choice in choices} == set(MANY)


def test_the_forms_of_the_guides_are_among_them_by_what_they_match() -> None:
    choices = {matched(text, MANY) for text in telling_ranges(MANY)}

    for text in ("^1", "~1", "1.x", "1", "^1.0", "1.0", "1.0.x", "~1.1", "*", ">=1.0.3", "<2", "~0.1.1", "<=1.2.0"):
        assert matched(text, MANY) in choices, text


def test_from_many_versions_those_named_first() -> None:
    among = [Version(1, 0, patch) for patch in range(2 * MOST_VERSIONS)]
    odd = among[3]

    told = telling_ranges(among, first=[odd])

    assert "<=1.0.3" in told
    assert "<=1.0.4" not in told
    assert len(told) <= 2 * MOST_VERSIONS + 1


def test_a_range_that_is_too_long_to_be_sent_is_not_told() -> None:
    long = Version.parse("1.0.0-" + "a" * (LONGEST - len("1.0.0-")))

    assert all(len(text) <= LONGEST for text in telling_ranges([long, Version(1, 0, 0)]))
