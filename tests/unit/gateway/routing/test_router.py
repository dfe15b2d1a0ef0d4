"""Both steps together: the decision with every reason."""

from __future__ import annotations

import pytest

from contracts.version import Version
from gateway.routing.asking import RouteRequest
from gateway.routing.decision import Decision, NotRouted, Reason
from gateway.routing.filters import InFlight
from gateway.routing.router import route
from gateway.routing.snapshot import Snapshot
from tests.support.fleets import A100, H100, asking, busy, fleet, idle, served, worker


def decided(snapshot: Snapshot, request: RouteRequest, *, in_flight: InFlight = idle) -> Decision:
    decision = route(snapshot, request, in_flight=in_flight, draw=0.0, now=0.0)
    assert isinstance(decision, Decision), decision
    return decision


def reasons(decision: Decision) -> dict[tuple[str, str], str]:
    return {(one.version, one.instance): one.reason for one in decision.rejected}


@pytest.mark.parametrize(
    ("asked", "answers"),
    [
        pytest.param("^1.2", "v1.4.0", id="caret-takes-the-newest-minor"),
        pytest.param("1.2.0", "v1.2.0", id="exact-takes-no-newer-patch"),
    ],
)
def test_the_selector_decides_the_version(asked: str, answers: str) -> None:
    decision = decided(fleet("v1.2.0", "v1.2.9", "v1.4.0"), asking(asked))

    assert decision.version == Version.parse(answers)


def test_every_candidate_that_was_passed_over_has_its_reason() -> None:
    snapshot = fleet(
        served("v2.0.0"),
        served("v1.5.0", worker("v1.5.0", refused="ejected: digest differs")),
        served("v1.4.0", worker("v1.4.0", "a"), worker("v1.4.0", "b"), worker("v1.4.0", "c", refused="down: x")),
        served("v1.3.0"),
        served("v1.2.0", status="retired"),
        served("v1.1.0", tied=True),
        served("v1.1.0+b", tied=True),
    )

    decision = decided(snapshot, asking("^1"))

    assert (str(decision.version), decision.instance.id) == ("v1.4.0", "a")
    assert reasons(decision) == {
        ("v1.4.0", "b"): "picker: not drawn",
        ("v1.4.0", "c"): "down: x",
        ("v2.0.0", "i-1"): "version: range chose v1.4.0",
        ("v1.5.0", "i-1"): "ejected: digest differs",
        ("v1.3.0", "i-1"): "version: v1.4.0 is higher",
        ("v1.2.0", "i-1"): "retired",
        ("v1.1.0", "i-1"): "version: ties with another build, so ranges use neither",
        ("v1.1.0+b", "i-1"): "version: ties with another build, so ranges use neither",
    }


def test_a_higher_version_without_the_dna_prefix_is_told_so() -> None:
    snapshot = fleet(served("v1.4.0", worker("v1.4.0", dna=A100)), served("v1.3.0", worker("v1.3.0", dna=H100)))

    decision = decided(snapshot, asking("^1", prefix="7cd8"))

    assert reasons(decision) == {("v1.4.0", "i-1"): "dna_prefix: a1b2c3d4 does not begin with 7cd8"}


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        pytest.param(asking("v2.4.0"), "version: exact chose v2.4.0", id="exact"),
        pytest.param(asking("stable"), "version: exact chose v2.4.0", id="alias"),
        pytest.param(asking(), "version: canary chose v2.4.0", id="canary"),
        pytest.param(asking(prefix="a1b2"), "version: dna chose v2.4.0", id="dna-by-rule"),
    ],
)
def test_other_versions_are_told_what_chose(request_: RouteRequest, reason: str) -> None:
    rules = [{"version": "v2.4.0", "traffic_percentage": 100, "dna_prefix": "a1b2"}]
    route_ = {"default": "^2", "aliases": {"stable": "v2.4.0"}, "canary_rules": rules}

    decision = decided(fleet("v2.4.0", "v2.5.0", route=route_), request_)

    assert reasons(decision) == {("v2.5.0", "i-1"): reason}


def test_a_default_range_tells_as_a_range_does() -> None:
    decision = decided(
        fleet("v2.4.0", "v2.5.0", "v3.0.0", route={"default": "recent", "aliases": {"recent": "^2"}}), asking()
    )

    assert reasons(decision) == {
        ("v2.4.0", "i-1"): "version: v2.5.0 is higher",
        ("v3.0.0", "i-1"): "version: default chose v2.5.0",
    }


def test_a_dna_prefix_with_a_default_range_tells_as_a_range_does() -> None:
    decision = decided(fleet("v2.4.0", "v2.5.0", route={"default": "^2"}), asking(prefix="a1b2"))

    assert decision.resolution.reason is Reason.DNA
    assert reasons(decision) == {("v2.4.0", "i-1"): "version: v2.5.0 is higher"}


@pytest.mark.parametrize(
    ("canary", "reason"),
    [
        (worker("v2.5.0", refused="unverified: not probed yet"), "unverified: not probed yet"),
        (worker("v2.5.0", dna=H100), "dna_prefix: not the canary rule's"),
    ],
)
def test_k9_the_canary_that_gave_its_share_back_tells_why(canary: object, reason: str) -> None:
    rules = [{"version": "v2.5.0", "traffic_percentage": 100, "dna_prefix": "a1b2"}]
    assert isinstance(canary, type(worker("v1.0.0")))

    decision = decided(
        fleet("v2.4.0", served("v2.5.0", canary), route={"default": "v2.4.0", "canary_rules": rules}), asking()
    )

    assert decision.resolution.canary_returned == Version(2, 5, 0)
    assert reasons(decision) == {("v2.5.0", "i-1"): reason}


def test_the_only_version_needs_no_selector_to_explain_itself() -> None:
    assert decided(fleet("v2.4.0"), asking()).rejected == ()


def test_a_wish_and_the_load_reach_the_pick() -> None:
    view = served("v2.4.0", worker("v2.4.0", "a", dna=A100), worker("v2.4.0", "h", dna=H100))

    assert decided(fleet(view), asking("v2.4.0", wish=H100)).instance.id == "h"
    assert decided(fleet(view), asking("v2.4.0"), in_flight=busy(a=3)).instance.id == "h"
    assert decided(fleet(view), asking("v2.4.0", prefix="7cd8")).instance.id == "h"


def test_what_cannot_be_resolved_is_not_routed() -> None:
    refusal = route(fleet("v2.4.0"), asking("v9.9.9"), in_flight=idle, draw=0.0, now=0.0)

    assert isinstance(refusal, NotRouted)
    assert refusal.code == "version_not_found"


def test_a_version_without_an_instance_is_not_routed_and_no_other_answers() -> None:
    view = served("v2.4.0", worker("v2.4.0", refused="ejected: digest differs"))

    refusal = route(fleet(view, "v2.4.1", "v2.3.9"), asking("v2.4.0"), in_flight=idle, draw=0.0, now=0.0)

    assert isinstance(refusal, NotRouted)
    assert (refusal.status, refusal.code, refusal.version) == (503, "no_verified_instance", Version(2, 4, 0))
    assert [(one.version, one.reason) for one in refusal.rejected] == [("v2.4.0", "ejected: digest differs")]


def test_a_full_version_is_429_and_no_older_one_answers() -> None:
    view = served("v2.5.0", worker("v2.5.0", max_in_flight=3))

    refusal = route(fleet(view, "v2.4.0"), asking("^2"), in_flight=busy(i_1=3), draw=0.0, now=0.0)

    assert isinstance(refusal, NotRouted)
    assert (refusal.status, refusal.code, refusal.version) == (429, "saturated", Version(2, 5, 0))
    assert [(one.version, one.reason) for one in refusal.rejected] == [("v2.5.0", "full: 3 in flight")]
