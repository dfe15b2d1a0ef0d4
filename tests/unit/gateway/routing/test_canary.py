"""routing.md section 4: the rows that a decision alone can show."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, product
from math import sqrt
from typing import Any

import pytest

from contracts.version import Version
from gateway.routing.decision import NoInstance, NotRouted, Reason, Resolution
from gateway.routing.pickers import pick
from gateway.routing.resolve import canary_bucket, resolve
from gateway.routing.snapshot import Instance, Snapshot, VersionView
from tests.support.fleets import A100, H100, MODEL, asking, busy, fleet, idle, served, unserved, worker

STABLE, CANARY = "v2.4.0", "v2.5.0"
KEYS = [f"user-{number}" for number in range(10_000)]


def spread(percentage: float, *, canary: VersionView | None = None, generation: int = 1, **rule: Any) -> Snapshot:
    """A stable version by default and one canary of so many percent."""
    rules = [{"version": CANARY, "traffic_percentage": percentage, **rule}]
    views = (STABLE, canary or served(CANARY))
    return fleet(*views, route={"default": STABLE, "canary_rules": rules}, generation=generation)


def resolved(snapshot: Snapshot, key: str) -> Resolution:
    resolution = resolve(snapshot, asking(key=key))
    assert isinstance(resolution, Resolution), resolution
    return resolution


def in_canary(snapshot: Snapshot) -> set[str]:
    return {key for key in KEYS if resolved(snapshot, key).reason is Reason.CANARY}


def test_k1_one_key_stays_on_one_version() -> None:
    snapshot = spread(20)

    assert len({resolved(snapshot, "user-42").view.version for _ in range(1000)}) == 1


@pytest.mark.parametrize("percentage", [0.1, 1, 5, 25, 50, 90])
def test_k2_the_share_is_within_binomial_bounds(percentage: float) -> None:
    share = percentage / 100
    deviation = sqrt(len(KEYS) * share * (1 - share))

    assert abs(len(in_canary(spread(percentage))) - len(KEYS) * share) < 4 * deviation


def test_k2_each_key_is_always_on_the_same_side() -> None:
    assert in_canary(spread(5, generation=1)) == in_canary(spread(5, generation=2))


def test_k3_raising_a_percentage_only_adds_keys() -> None:
    shares = [in_canary(spread(percentage)) for percentage in (0, 5, 10, 25, 50, 100)]

    for smaller, larger in pairwise(shares):
        assert smaller < larger


def test_k3_raising_one_rule_moves_no_key_of_another() -> None:
    def second_rule(first: float) -> set[str]:
        rules = [
            {"version": CANARY, "traffic_percentage": first},
            {"version": "v2.6.0", "traffic_percentage": 10},
        ]
        snapshot = fleet(STABLE, CANARY, "v2.6.0", route={"default": STABLE, "canary_rules": rules})
        return {key for key in KEYS[:2000] if resolved(snapshot, key).view.version == Version(2, 6, 0)}

    assert second_rule(5) == second_rule(10) == second_rule(25)


@pytest.mark.parametrize(("percentage", "share"), [(0, 0), (100, len(KEYS))])
def test_k5_zero_is_none_and_a_hundred_is_all(percentage: float, share: int) -> None:
    assert len(in_canary(spread(percentage))) == share


@pytest.mark.parametrize("before", [50, 100])
def test_k6_k7_the_next_generation_has_nothing_of_the_old_rule(before: float) -> None:
    old, new = spread(before, generation=1), spread(0, generation=2)

    assert in_canary(old)
    assert {(resolved(new, key).reason, resolved(new, key).generation) for key in KEYS[:500]} == {(Reason.DEFAULT, 2)}


def test_k8_a_version_that_got_all_traffic_keeps_its_limit() -> None:
    snapshot = spread(100, canary=served(CANARY, worker(CANARY, max_in_flight=4)))
    view = resolved(snapshot, "anybody").view

    def pick_with(in_flight: int) -> Instance | NoInstance:
        return pick(view, dna_prefix=None, dna_wish=None, in_flight=busy(i_1=in_flight), draw=0.5, now=0.0)

    assert isinstance(pick_with(3), Instance)
    full = pick_with(4)
    assert isinstance(full, NoInstance)
    assert (full.status, full.code) == (429, "saturated")


@pytest.mark.parametrize(
    "canary",
    [
        pytest.param(served(CANARY, worker(CANARY, refused="unverified: not probed yet")), id="not-verified"),
        pytest.param(served(CANARY, worker(CANARY, refused="ejected: digest differs")), id="ejected"),
        pytest.param(served(CANARY, worker(CANARY, refused="down: connection refused")), id="down"),
        pytest.param(unserved(CANARY), id="no-instance"),
        pytest.param(served(CANARY, status="draining"), id="draining"),
        pytest.param(served(CANARY, status="retired"), id="retired"),
    ],
)
def test_k9_a_canary_that_cannot_answer_gives_its_share_back(canary: VersionView) -> None:
    resolution = resolved(spread(100, canary=canary), "anybody")

    assert (str(resolution.view.version), resolution.reason) == (STABLE, Reason.DEFAULT)
    assert (resolution.canary_returned, resolution.dna_prefix) == (Version(2, 5, 0), None)


def test_k9_an_instance_without_the_rules_dna_prefix_is_none() -> None:
    canary = served(CANARY, worker(CANARY, dna=H100))

    assert resolved(spread(100, canary=canary, dna_prefix="a1b2"), "anybody").canary_returned == Version(2, 5, 0)


def test_k9_a_rule_without_a_contract_keeps_its_slice_and_gives_its_share_back() -> None:
    rules = [
        {"version": "v9.9.9", "traffic_percentage": 30},
        {"version": CANARY, "traffic_percentage": 30},
    ]
    without = fleet(STABLE, CANARY, route={"default": STABLE, "canary_rules": rules})
    with_it = fleet(STABLE, CANARY, "v9.9.9", route={"default": STABLE, "canary_rules": rules})

    def share(snapshot: Snapshot) -> set[str]:
        return {key for key in KEYS[:2000] if str(resolved(snapshot, key).view.version) == CANARY}

    returned = Counter(resolved(without, key).canary_returned for key in KEYS[:2000])
    assert share(without) == share(with_it)
    assert 500 < returned[Version(9, 9, 9)] < 700


def test_k9_a_client_that_pinned_the_canary_gets_no_default() -> None:
    canary = served(CANARY, worker(CANARY, refused="ejected: digest differs"))

    resolution = resolve(spread(100, canary=canary), asking(CANARY))

    assert isinstance(resolution, Resolution)
    assert str(resolution.view.version) == CANARY
    missing = pick(resolution.view, dna_prefix=None, dna_wish=None, in_flight=idle, draw=0.0, now=0.0)
    assert isinstance(missing, NoInstance)
    assert (missing.status, missing.code) == (503, "no_verified_instance")


def test_k9_a_share_given_back_is_told_even_where_the_default_has_nothing_either() -> None:
    rules = [{"version": CANARY, "traffic_percentage": 100}]
    stable = served(STABLE, worker(STABLE, refused="down: probes failed"))

    refusal = resolve(fleet(stable, unserved(CANARY), route={"default": "~2.4", "canary_rules": rules}), asking())

    assert isinstance(refusal, NotRouted)
    assert (refusal.code, refusal.reason) == ("no_instance_up", Reason.DEFAULT)
    assert refusal.canary_returned == Version(2, 5, 0)


def test_a_full_canary_keeps_its_share() -> None:
    """Full instances count: the excess gets 429, not another version."""
    snapshot = spread(100, canary=served(CANARY, worker(CANARY, max_in_flight=0)))

    assert resolved(snapshot, "anybody").reason is Reason.CANARY


def test_the_rules_dna_prefix_stays_with_the_picks() -> None:
    canary = served(CANARY, worker(CANARY, "other", dna=H100), worker(CANARY, "right", dna=A100))
    resolution = resolved(spread(100, canary=canary, dna_prefix="a1b2"), "anybody")

    picked = {
        pick(resolution.view, dna_prefix=resolution.dna_prefix, dna_wish=None, in_flight=idle, draw=n / 10, now=0.0)
        for n in range(10)
    }

    assert resolution.dna_prefix == "a1b2"
    assert picked == {canary.instances[1]}


def test_without_a_default_keys_outside_the_canary_must_name_a_version() -> None:
    rules = [{"version": CANARY, "traffic_percentage": 50}]
    snapshot = fleet(STABLE, CANARY, route={"canary_rules": rules})

    outcomes = Counter(
        outcome.code if isinstance(outcome, NotRouted) else str(outcome.view.version)
        for outcome in (resolve(snapshot, asking(key=key)) for key in KEYS[:1000])
    )

    assert set(outcomes) == {CANARY, "selector_required"}


def test_g5_the_bucket_depends_on_salt_model_and_key_alone() -> None:
    model = spread(5, generation=1).models[MODEL]
    elsewhere = spread(50, generation=9).models[MODEL]
    salted = fleet(STABLE, route={"default": STABLE, "salt": "2"}).models[MODEL]
    without_route = fleet(STABLE).models[MODEL]

    assert (
        canary_bucket(model, "user-1") == canary_bucket(elsewhere, "user-1") == canary_bucket(without_route, "user-1")
    )
    assert canary_bucket(model, "user-1") != canary_bucket(salted, "user-1")


# K4: path, preference, body, DNA prefix and canary in all combinations.

PATHS = (None, "v2.3.0", "v2.2.0")
PREFERENCES = (None, "v2.3.0", "2.3.0", "v2.2.0", "old")
BODIES = (None, "v2.3.0", "=2.3.0", "v2.2.0")
PREFIXES = (None, "7cd8")


def expected(asked: list[str], prefix: str | None) -> tuple[str, str] | str:
    """What the design's order of precedence says, told independently of the code."""
    meant = {text.lstrip("=v") for text in asked}
    if len(meant) > 1:
        return "selector_conflict"
    if meant == {"old"}:
        return ("v2.2.0", "exact")
    if meant:
        return (f"v{meant.pop()}", "exact")
    return ("v2.6.0", "dna") if prefix else (CANARY, "canary")


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize(("path", "preference", "body"), list(product(PATHS, PREFERENCES, BODIES)))
def test_k4_precedence(path: str | None, preference: str | None, body: str | None, prefix: str | None) -> None:
    rules = [
        {"version": CANARY, "traffic_percentage": 100},
        {"version": "v2.6.0", "traffic_percentage": 0, "dna_prefix": "7cd8"},
    ]
    versions = ("v2.2.0", "v2.3.0", STABLE, CANARY, "v2.6.0")
    snapshot = fleet(
        *(served(version, worker(version, dna=H100)) for version in versions),
        route={"default": STABLE, "aliases": {"old": "v2.2.0"}, "canary_rules": rules},
    )
    asked = [text for text in (path, preference, body) if text is not None]

    outcome = resolve(snapshot, asking(*asked, prefix=prefix, key="user-1"))

    if isinstance(outcome, NotRouted):
        assert (outcome.status, outcome.code) == (400, expected(asked, prefix))
    else:
        assert (str(outcome.view.version), outcome.reason.value) == expected(asked, prefix)
        assert outcome.requested == (asked[0] if asked else "default")
        assert outcome.dna_prefix == prefix


@pytest.mark.parametrize(
    ("first", "second", "conflict"),
    [
        ("v2.4.0", "2.4.0", False),
        ("^2.4", "^v2.4", False),
        (" stable", "stable", False),
        ("stable", "latest", True),
        ("stable", "v2.4.0", True),
        ("^2.4", "v2.4.0", True),
        ("^2.4", "~2.4", True),
        ("v2.4.0", "v2.4.0+build", True),
    ],
)
def test_k4_two_that_mean_the_same_are_no_conflict(first: str, second: str, conflict: bool) -> None:
    snapshot = fleet(STABLE, route={"aliases": {"stable": STABLE, "latest": STABLE}})

    outcome = resolve(snapshot, asking(first, second))

    assert isinstance(outcome, NotRouted) is conflict
    if isinstance(outcome, NotRouted):
        assert (outcome.code, outcome.requested) == ("selector_conflict", first)


def test_k4_one_that_cannot_be_read_is_told_even_behind_a_good_one() -> None:
    outcome = resolve(fleet(STABLE), asking(STABLE, "^^2"))

    assert isinstance(outcome, NotRouted)
    assert outcome.code == "selector_invalid"


def test_k4_a_dna_prefix_narrows_a_named_version() -> None:
    outcome = resolve(spread(100), asking(STABLE, prefix="7cd8"))

    assert isinstance(outcome, Resolution)
    assert (str(outcome.view.version), outcome.dna_prefix) == (STABLE, "7cd8")
    missing = pick(outcome.view, dna_prefix=outcome.dna_prefix, dna_wish=None, in_flight=idle, draw=0.0, now=0.0)
    assert isinstance(missing, NoInstance)
    assert [one.reason for one in missing.rejected] == ["dna_prefix: a1b2c3d4 does not begin with 7cd8"]
