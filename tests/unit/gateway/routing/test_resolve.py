"""Which version: design section 6, routing.md sections 1 and 2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from contracts.version import Version
from gateway.routing.asking import RouteRequest
from gateway.routing.decision import NotRouted, Reason, Resolution
from gateway.routing.resolve import resolve
from gateway.routing.snapshot import EMPTY, Snapshot
from tests.support.fleets import A100, GENERATION, H100, MODEL, asking, fleet, served, together, unserved, worker


def resolved(snapshot: Snapshot, request: RouteRequest) -> Resolution:
    resolution = resolve(snapshot, request)
    assert isinstance(resolution, Resolution), resolution
    return resolution


def refused(snapshot: Snapshot, request: RouteRequest) -> NotRouted:
    refusal = resolve(snapshot, request)
    assert isinstance(refusal, NotRouted), refusal
    return refusal


def chosen(snapshot: Snapshot, request: RouteRequest) -> tuple[str, Reason]:
    resolution = resolved(snapshot, request)
    return str(resolution.view.version), resolution.reason


# Selectors


@pytest.mark.parametrize(
    ("asked", "answers", "reason"),
    [
        pytest.param("v1.2.0", "v1.2.0", Reason.EXACT, id="exact-takes-no-newer-patch"),
        pytest.param("1.2.0", "v1.2.0", Reason.EXACT, id="the-v-is-optional"),
        pytest.param("=1.2.0", "v1.2.0", Reason.EXACT, id="equals-is-exact"),
        pytest.param("^1.2", "v1.4.0", Reason.RANGE, id="caret-takes-the-newest-minor"),
        pytest.param("~1.2.0", "v1.2.9", Reason.RANGE, id="tilde-takes-the-newest-patch"),
        pytest.param("1.x", "v1.4.0", Reason.RANGE, id="x"),
        pytest.param("*", "v2.0.0", Reason.RANGE, id="star"),
        pytest.param(">=1.2 <1.4", "v1.2.9", Reason.RANGE, id="between"),
        pytest.param("^1.5.0-rc.1", "v1.5.0-rc.2", Reason.RANGE, id="pre-release-of-its-own-number"),
        pytest.param("1.5.0-rc.2", "v1.5.0-rc.2", Reason.EXACT, id="exact-pre-release"),
    ],
)
def test_the_selector_decides_the_version(asked: str, answers: str, reason: Reason) -> None:
    snapshot = fleet("v1.2.0", "v1.2.9", "v1.4.0", "v1.5.0-rc.2", "v2.0.0")

    assert chosen(snapshot, asking(asked)) == (answers, reason)


@pytest.mark.parametrize("asked", ["v9.9.9", "^9", "~1.3.0", "v1.2.0+build", "1.5.0-rc.1"])
def test_a_version_that_does_not_exist_is_404_and_lists_what_there_is(asked: str) -> None:
    refusal = refused(fleet("v1.2.0", "v1.4.0", served("v1.0.0", status="retired")), asking(asked))

    assert (refusal.status, refusal.code) == (404, "version_not_found")
    assert refusal.available == ("v1.4.0", "v1.2.0")
    assert (refusal.model_id, refusal.version, refusal.requested, refusal.reason) == (MODEL, None, asked, None)
    assert asked in refusal.detail


@pytest.mark.parametrize("asked", ["", " ", "1.2.3.4", "^^1", "v1.2.0;drop"])
def test_a_selector_that_cannot_be_read_is_400(asked: str) -> None:
    refusal = refused(fleet("v1.2.0"), asking(asked))

    assert (refusal.status, refusal.code, refusal.requested) == (400, "selector_invalid", asked)


def test_the_answer_names_generation_and_selector_as_sent() -> None:
    resolution = resolved(fleet("v1.2.0"), asking("=1.2.0"))

    assert (resolution.generation, resolution.requested) == (GENERATION, "=1.2.0")


@pytest.mark.parametrize(
    ("asked", "matches"),
    [
        ("^1.2.3", False),
        ("*", False),
        (">=1.2.0-rc.1", False),
        (">=1.3.0-alpha", True),
        ("1.3.0-alpha", True),
        ("^1.3.0-0", True),
    ],
)
def test_v12_pre_releases_do_not_leak_into_ranges(asked: str, matches: bool) -> None:
    outcome = resolve(fleet("v1.3.0-alpha"), asking(asked))

    assert isinstance(outcome, Resolution) is matches


def test_v12_build_metadata_is_another_version_exactly_and_none_in_a_range() -> None:
    snapshot = fleet("v2.3.9+hotfix-20240511")

    assert chosen(snapshot, asking("^2.3")) == ("v2.3.9+hotfix-20240511", Reason.RANGE)
    assert chosen(snapshot, asking("2.3.9+hotfix-20240511")) == ("v2.3.9+hotfix-20240511", Reason.EXACT)
    assert refused(snapshot, asking("2.3.9")).code == "version_not_found"


def test_ranges_use_neither_of_two_builds_that_tie() -> None:
    snapshot = fleet(served("v2.3.9", tied=True), served("v2.3.9+hotfix", tied=True), "v2.3.8")

    assert chosen(snapshot, asking("^2.3")) == ("v2.3.8", Reason.RANGE)
    assert chosen(snapshot, asking("v2.3.9+hotfix")) == ("v2.3.9+hotfix", Reason.EXACT)
    assert chosen(snapshot, asking("v2.3.9")) == ("v2.3.9", Reason.EXACT)


def test_a_range_that_only_tied_builds_match_says_so() -> None:
    refusal = refused(fleet(served("v2.3.9", tied=True), served("v2.3.9+hotfix", tied=True)), asking("^2.3"))

    assert refusal.code == "version_not_found"
    assert "v2.3.9+hotfix, v2.3.9 differ only in build metadata" in refusal.detail


# Ranges and instances


def test_u4_the_version_before_serves_where_the_new_one_is_not_verified() -> None:
    snapshot = fleet(served("v1.4.0", worker("v1.4.0", refused="ejected: digest differs")), "v1.2.0")

    assert chosen(snapshot, asking("^1.2")) == ("v1.2.0", Reason.RANGE)


def test_v1_the_next_request_takes_the_version_that_lives_and_says_so() -> None:
    snapshot = fleet(served("v1.3.0", worker("v1.3.0", refused="down: connection refused")), "v1.2.0")

    resolution = resolved(snapshot, asking("^1.2"))

    assert (str(resolution.view.version), resolution.requested) == ("v1.2.0", "^1.2")


@pytest.mark.parametrize("status", ["draining", "retired"])
def test_ranges_leave_out_what_is_out_of_service(status: str) -> None:
    assert chosen(fleet(served("v1.4.0", status=status), "v1.2.0"), asking("^1")) == ("v1.2.0", Reason.RANGE)


def test_deprecated_versions_count() -> None:
    snapshot = fleet(served("v1.4.0", deprecated_at="2020-01-01T00:00:00Z"), "v1.2.0")

    assert chosen(snapshot, asking("^1")) == ("v1.4.0", Reason.RANGE)


def test_a_range_without_a_ready_instance_names_the_candidates_of_all_matching_versions() -> None:
    snapshot = fleet(
        served("v1.4.0", worker("v1.4.0", "a", refused="ejected: digest differs")),
        served("v1.3.0", worker("v1.3.0", "b"), status="draining"),
        served("v1.2.0", worker("v1.2.0", "c", refused="down: connection refused", back_at=50.0)),
        served("v2.0.0", worker("v2.0.0", "d")),
    )

    refusal = refused(snapshot, asking("^1"))

    assert (refusal.status, refusal.code) == (503, "no_instance_up")
    assert (str(refusal.version), refusal.reason, refusal.back_at) == ("v1.4.0", Reason.RANGE, 50.0)
    assert [(one.version, one.instance, one.reason) for one in refusal.rejected] == [
        ("v1.4.0", "a", "ejected: digest differs"),
        ("v1.3.0", "b", "draining: the version is being taken out of service"),
        ("v1.2.0", "c", "down: connection refused"),
    ]
    assert refusal.detail == (
        f"{MODEL} ^1: v1.4.0 has 1 instance: a ejected (digest differs); "
        "v1.3.0 has 1 instance: b draining (the version is being taken out of service); "
        "v1.2.0 has 1 instance: c down (connection refused); ask again after the time in Retry-After"
    )


def test_a_range_that_only_a_draining_version_matches_is_503() -> None:
    refusal = refused(fleet(served("v1.3.0", status="draining"), "v2.0.0"), asking("^1"))

    assert (refusal.status, refusal.code, str(refusal.version)) == (503, "draining", "v1.3.0")


def test_a_range_that_only_a_retired_version_matches_is_404() -> None:
    refusal = refused(fleet(served("v1.3.0", status="retired"), "v2.0.0"), asking("^1"))

    assert (refusal.status, refusal.code, refusal.available) == (404, "version_not_found", ("v2.0.0",))


# Retired and deleted


def test_v7_a_retired_version_named_exactly_is_410_with_what_lives() -> None:
    snapshot = fleet(served("v1.2.0", status="retired", successor="v1.4.0"), "v1.4.0", "v1.3.0")

    refusal = refused(snapshot, asking("v1.2.0"))

    assert (refusal.status, refusal.code) == (410, "version_retired")
    assert (refusal.successor, refusal.available) == (Version(1, 4, 0), ("v1.4.0", "v1.3.0"))
    assert (refusal.version, refusal.reason) == (Version(1, 2, 0), Reason.EXACT)
    assert [(one.version, one.reason) for one in refusal.rejected] == [("v1.2.0", "retired")]
    assert "use v1.4.0" in refusal.detail


def test_v7_a_retired_version_without_successor_points_to_what_lives() -> None:
    refusal = refused(fleet(served("v1.2.0", status="retired"), "v1.4.0"), asking("v1.2.0"))

    assert refusal.successor is None
    assert "available" in refusal.detail


def test_v7_a_deleted_version_is_404_with_what_lives() -> None:
    refusal = refused(fleet("v1.4.0"), asking("v1.2.0"))

    assert (refusal.status, refusal.available) == (404, ("v1.4.0",))


def test_a_draining_version_named_exactly_is_resolved_and_refused_by_the_pick() -> None:
    assert chosen(fleet(served("v1.2.0", status="draining")), asking("v1.2.0")) == ("v1.2.0", Reason.EXACT)


# Aliases


STABLE: Mapping[str, Any] = {"aliases": {"stable": "v2.1.0", "recent": "^2"}}


@pytest.mark.parametrize(
    ("asked", "answers", "reason"), [("stable", "v2.1.0", Reason.EXACT), ("recent", "v2.2.0", Reason.RANGE)]
)
def test_v3_an_alias_is_what_was_asked_and_not_what_answers(asked: str, answers: str, reason: Reason) -> None:
    resolution = resolved(fleet("v2.1.0", "v2.2.0", route=STABLE), asking(asked))

    assert (resolution.requested, str(resolution.view.version), resolution.reason) == (asked, answers, reason)


@pytest.mark.parametrize(
    ("route", "told"),
    [
        pytest.param(None, "it has no aliases", id="no-route"),
        pytest.param({}, "it has no aliases", id="no-aliases"),
        pytest.param(STABLE, "stable, recent", id="others"),
    ],
)
def test_a_word_that_is_no_alias_is_404_naming_those_there_are(route: Mapping[str, Any] | None, told: str) -> None:
    refusal = refused(fleet("v2.1.0", "v2.2.0", route=route), asking("latest"))

    assert (refusal.status, refusal.code) == (404, "version_not_found")
    assert told in refusal.detail


# Models


def test_no_documents_at_all_is_503() -> None:
    refusal = refused(EMPTY, asking("v1.2.0", model=MODEL))

    assert (refusal.status, refusal.code, refusal.requested) == (503, "not_configured", "v1.2.0")


def test_an_unknown_model_is_404_listing_the_models() -> None:
    refusal = refused(fleet("v1.2.0"), asking(model="gpt-2"))

    assert (refusal.status, refusal.code, refusal.available) == (404, "model_not_found", (MODEL,))
    assert (refusal.model_id, refusal.requested) == ("gpt-2", "default")


def test_v4_the_only_model_need_not_be_named() -> None:
    assert resolved(fleet("v1.2.0"), asking()).model.model_id == MODEL


@pytest.mark.parametrize("model", [None, ""])
def test_v4_with_two_models_one_must_be_named(model: str | None) -> None:
    refusal = refused(together(fleet("v1.2.0"), fleet("v1.0.0", model_id="other")), asking(model=model))

    assert (refusal.status, refusal.code, refusal.available) == (400, "model_required", (MODEL, "other"))


def test_v4_sent_empty_is_not_left_out() -> None:
    assert refused(fleet("v1.2.0"), asking(model="")).code == "model_required"


def test_a_named_model_is_taken_among_several() -> None:
    snapshot = together(fleet("v1.2.0"), fleet("v1.0.0", model_id="other"))

    assert resolved(snapshot, asking("^1", model="other")).model.model_id == "other"


# Nothing asked


def test_v6_the_default_decides_and_no_new_version_outside_it() -> None:
    route = {"default": "^2.4"}
    before = fleet("v2.4.0", "v2.5.0", route=route)
    registered = fleet("v2.4.0", "v2.5.0", "v3.0.0", route=route)

    assert chosen(before, asking()) == chosen(registered, asking()) == ("v2.5.0", Reason.DEFAULT)
    assert resolved(registered, asking()).requested == "default"


@pytest.mark.parametrize(
    ("default", "answers"), [("v2.4.0", "v2.4.0"), ("~2.4.0", "v2.4.1"), ("stable", "v2.4.0"), ("recent", "v2.5.0")]
)
def test_the_default_may_be_exact_a_range_or_an_alias(default: str, answers: str) -> None:
    route = {"default": default, "aliases": {"stable": "v2.4.0", "recent": "^2"}}

    assert chosen(fleet("v2.4.0", "v2.4.1", "v2.5.0", route=route), asking()) == (answers, Reason.DEFAULT)


def test_without_a_default_the_only_version_answers() -> None:
    assert chosen(fleet("v2.4.0"), asking()) == ("v2.4.0", Reason.DEFAULT)


def test_without_a_default_several_versions_need_a_selector() -> None:
    refusal = refused(fleet("v2.4.0", "v2.5.0", route={}), asking())

    assert (refusal.status, refusal.code, refusal.available) == (400, "selector_required", ("v2.5.0", "v2.4.0"))
    assert "X-Model-Preference" in refusal.detail


def test_a_route_without_contracts_has_no_version() -> None:
    refusal = refused(fleet(route={}), asking())

    assert (refusal.status, refusal.code, refusal.available) == (404, "version_not_found", ())


@pytest.mark.parametrize(
    ("default", "status", "code"),
    [
        pytest.param("v2.0.0", 410, "version_retired", id="retired"),
        pytest.param("v9.0.0", 404, "version_not_found", id="exact-and-unknown"),
        pytest.param("^9", 404, "version_not_found", id="range-and-unknown"),
    ],
)
def test_a_default_that_leads_nowhere_is_told(default: str, status: int, code: str) -> None:
    refusal = refused(fleet(served("v2.0.0", status="retired"), "v3.0.0", route={"default": default}), asking())

    assert (refusal.status, refusal.code, refusal.requested) == (status, code, "default")
    assert refusal.available == ("v3.0.0",)


def test_the_only_version_being_retired_is_told_too() -> None:
    assert refused(fleet(served("v2.0.0", status="retired")), asking()).code == "version_retired"


def test_v5_after_a_restart_nothing_is_verified_and_nothing_answers() -> None:
    versions = [
        served(version, worker(version, refused="unverified: not probed yet")) for version in ("v1.0.0", "v2.0.0")
    ]

    refusal = refused(fleet(*versions, route={"default": "*"}), asking())

    assert (refusal.status, refusal.code, refusal.reason) == (503, "no_verified_instance", Reason.DEFAULT)
    assert [one.reason for one in refusal.rejected] == ["unverified: not probed yet"] * 2


# DNA prefix


CANARIES: Mapping[str, Any] = {
    "default": "^2.4.0",
    "canary_rules": [
        {"version": "v2.5.0-rc.1", "traffic_percentage": 0, "dna_prefix": "7cd8"},
        {"version": "v2.5.0-rc.2", "traffic_percentage": 10, "dna_prefix": "7cd8c3"},
        {"version": "v2.5.0-rc.3", "traffic_percentage": 0},
    ],
}


def canaries() -> Snapshot:
    rules = [served(f"v2.5.0-rc.{n}", worker(f"v2.5.0-rc.{n}", dna=H100)) for n in (1, 2, 3)]
    default = served("v2.4.0", worker("v2.4.0", "a", dna=A100), worker("v2.4.0", "b", dna=H100))
    return fleet(default, *rules, route=CANARIES)


@pytest.mark.parametrize(
    ("prefix", "answers"),
    [
        pytest.param("7cd8", "v2.5.0-rc.1", id="equals-a-rule-whatever-the-percentage"),
        pytest.param("7cd8c", "v2.5.0-rc.1", id="extends-a-rule"),
        pytest.param("7cd8c3", "v2.5.0-rc.2", id="equals-the-longer-rule"),
        pytest.param("7cd8c3d4", "v2.5.0-rc.2", id="extends-two-and-the-longer-fits-best"),
        pytest.param("7cd", "v2.4.0", id="shorter-than-every-rule-takes-the-default"),
        pytest.param("a1b2", "v2.4.0", id="no-rule-takes-the-default"),
    ],
)
def test_k4_a_dna_prefix_chooses_the_rule_it_equals_or_extends(prefix: str, answers: str) -> None:
    resolution = resolved(canaries(), asking(prefix=prefix, key="anybody"))

    assert (str(resolution.view.version), resolution.reason) == (answers, Reason.DNA)
    assert (resolution.dna_prefix, resolution.requested) == (prefix, "default")


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param([], id="no-contract"),
        pytest.param([unserved("v2.5.0", status="draining")], id="draining"),
        pytest.param([unserved("v2.5.0", status="retired")], id="retired"),
    ],
)
def test_a_rule_that_is_out_of_service_does_not_take_the_prefix(rule: list[Any]) -> None:
    route = {
        "default": "v2.4.0",
        "canary_rules": [{"version": "v2.5.0", "traffic_percentage": 5, "dna_prefix": "a1b2"}],
    }

    assert chosen(fleet("v2.4.0", *rule, route=route), asking(prefix="a1b2")) == ("v2.4.0", Reason.DNA)


def test_a_default_range_takes_the_highest_version_that_has_the_prefix() -> None:
    snapshot = fleet(
        served("v2.4.0", worker("v2.4.0", dna=H100)),
        served("v2.5.0", worker("v2.5.0", dna=A100), worker("v2.5.0", "i-2", dna=None)),
        route={"default": "^2"},
    )

    assert chosen(snapshot, asking(prefix="7cd8")) == ("v2.4.0", Reason.DNA)
    assert chosen(snapshot, asking("^2", prefix="7cd8")) == ("v2.4.0", Reason.RANGE)


def test_a_prefix_nobody_has_is_503_with_the_reason_per_candidate() -> None:
    refusal = refused(fleet("v2.4.0", route={"default": "^2"}), asking(prefix="0000"))

    assert (refusal.status, refusal.code, refusal.reason) == (503, "no_verified_instance", Reason.DNA)
    assert [one.reason for one in refusal.rejected] == ["dna_prefix: a1b2c3d4 does not begin with 0000"]


@pytest.mark.parametrize("prefix", ["", "xyz", "a1b2c3d4e", "A1B2", " a1"])
@pytest.mark.parametrize("selectors", [(), ("v1.2.0",)])
def test_a_malformed_prefix_is_400(prefix: str, selectors: tuple[str, ...]) -> None:
    refusal = refused(fleet("v1.2.0"), asking(*selectors, prefix=prefix))

    assert (refusal.status, refusal.code, refusal.model_id) == (400, "dna_prefix_invalid", MODEL)
