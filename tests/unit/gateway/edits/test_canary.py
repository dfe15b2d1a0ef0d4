"""Canary rules change; no rule ever loses its place."""

from __future__ import annotations

from typing import Any

import pytest

from contracts.version import Version
from gateway.edits.canary import CanaryRefused, abort, promote, set_share

V1, V2, V3 = (Version.parse(text) for text in ("v1.0.0", "v2.0.0", "v3.0.0"))


def route(*rules: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"model_id": "m", "default": "^1", **fields, **({"canary_rules": list(rules)} if rules else {})}


def rule(version: str, share: float, **fields: Any) -> dict[str, Any]:
    return {"version": version, "traffic_percentage": share, **fields}


def test_a_rule_gets_another_share() -> None:
    one = route(rule("v2.0.0", 5), rule("v3.0.0", 1))
    set_share(one, V2, 25.0)

    assert one["canary_rules"] == [rule("v2.0.0", 25), rule("v3.0.0", 1)]
    assert repr(one["canary_rules"][0]["traffic_percentage"]) == "25"


def test_a_version_may_be_written_without_its_v() -> None:
    one = route(rule("2.0.0", 5))
    set_share(one, V2, 0.5)

    assert one["canary_rules"] == [rule("2.0.0", 0.5)]


@pytest.mark.parametrize("before", [{}, {"canary_rules": None}, {"canary_rules": []}])
def test_a_new_rule_is_the_last_one(before: dict[str, Any]) -> None:
    one = {**route(), **before}
    set_share(one, V2, 5, dna_prefix="a1b2")

    assert one["canary_rules"] == [rule("v2.0.0", 5, dna_prefix="a1b2")]


@pytest.mark.parametrize("share", [-1, 0.001, 100.5, float("nan")])
def test_what_is_no_share(share: float) -> None:
    with pytest.raises(CanaryRefused, match="is no percentage"):
        set_share(route(), V2, share)


def test_of_several_rules_the_prefix_says_which() -> None:
    one = route(rule("v2.0.0", 5, dna_prefix="a1b2"), rule("v2.0.0", 1, dna_prefix="c3d4"))

    with pytest.raises(CanaryRefused, match='say which by --dna-prefix: "a1b2", "c3d4"'):
        set_share(one, V2, 10)
    set_share(one, V2, 10, dna_prefix="c3d4")

    assert [each["traffic_percentage"] for each in one["canary_rules"]] == [5, 10]


@pytest.mark.parametrize("share", [-1.0, 100.1, float("nan")])
def test_no_percentage(share: float) -> None:
    with pytest.raises(CanaryRefused, match="is no percentage"):
        set_share(route(), V2, share)


def test_promote_ends_the_canary_and_leaves_the_others_alone() -> None:
    one = route(rule("v2.0.0", 25), rule("v3.0.0", 1))
    promote(one, V2)

    assert one["default"] == "v2.0.0"
    assert one["canary_rules"] == [rule("v2.0.0", 0), rule("v3.0.0", 1)]


def test_promote_with_a_range_and_without_a_canary() -> None:
    one = route()
    promote(one, V2, default="^2")

    assert one == {"model_id": "m", "default": "^2"}


def test_abort_one_or_all() -> None:
    one = route(rule("v2.0.0", 25), rule("v3.0.0", 1), {"version": "broken"})
    abort(one, V3)
    assert [each.get("traffic_percentage") for each in one["canary_rules"]] == [25, 0, None]

    abort(one, None)
    assert [each["traffic_percentage"] for each in one["canary_rules"]] == [0, 0, 0]


@pytest.mark.parametrize("version", [None, V1])
def test_abort_what_is_not_there(version: Version | None) -> None:
    with pytest.raises(CanaryRefused, match="does not have a"):
        abort(route() if version is None else route(rule("v2.0.0", 5)), version)
