"""clients.md section 4: which status, which code, which sentence."""

from __future__ import annotations

import pytest

from contracts.version import Version
from gateway.routing.decision import NotRouted, Reason, Resolution
from gateway.routing.filters import Terms
from gateway.routing.resolve import resolve
from gateway.routing.unavailable import no_instance, none_ready, not_routed
from tests.support.fleets import A100, H100, MODEL, asking, busy, fleet, idle, served, unserved, worker

VERSION = "v2.4.0"
EJECTED, SUSPECT, NEW = "ejected: digest differs", "suspect: label near", "unverified: not probed yet"
DOWN, DRAINING = "down: connection refused", "draining: by operator"


@pytest.mark.parametrize(
    ("refusals", "status", "code"),
    [
        pytest.param([EJECTED, SUSPECT, NEW], 503, "no_verified_instance", id="none-verified"),
        pytest.param([EJECTED, DOWN], 503, "no_instance_up", id="one-verified-and-down"),
        pytest.param([DOWN, DOWN], 503, "no_instance_up", id="all-down"),
        pytest.param([DRAINING, DRAINING], 503, "draining", id="all-draining"),
        pytest.param([DRAINING, EJECTED], 503, "no_instance_up", id="a-draining-one-is-verified"),
        pytest.param([DRAINING, DOWN], 503, "no_instance_up", id="draining-and-down"),
        pytest.param(["", EJECTED], 429, "saturated", id="one-full"),
        pytest.param(["", DOWN, DRAINING, NEW], 429, "saturated", id="full-and-all-others"),
    ],
)
def test_status_and_code(refusals: list[str], status: int, code: str) -> None:
    workers = [worker(VERSION, f"i-{n}", refused=refused, max_in_flight=0) for n, refused in enumerate(refusals)]

    missing = no_instance(served(VERSION, *workers), Terms(idle))

    assert (missing.status, missing.code) == (status, code)
    assert [one.instance for one in missing.rejected] == [f"i-{n}" for n in range(len(refusals))]


@pytest.mark.parametrize(
    ("terms", "status", "code"),
    [
        pytest.param(Terms(busy(right=64, wrong=0), "a1b2"), 429, "saturated", id="the-one-with-the-prefix-is-full"),
        pytest.param(Terms(busy(right=0, wrong=64), "0000"), 503, "no_verified_instance", id="nobody-has-the-prefix"),
        pytest.param(
            Terms(idle, "a1b2", [worker(VERSION, "right").key]), 503, "no_instance_up", id="the-one-with-it-was-tried"
        ),
    ],
)
def test_full_counts_only_where_nothing_else_is_in_the_way(terms: Terms, status: int, code: str) -> None:
    view = served(VERSION, worker(VERSION, "right", dna=A100), worker(VERSION, "wrong", dna=H100))

    missing = no_instance(view, terms)

    assert (missing.status, missing.code) == (status, code)


@pytest.mark.parametrize(
    ("back_at", "earliest"), [([None, None], None), ([None, 50.0], 50.0), ([70.0, 50.0], 50.0), ([70.0, 0.0], 0.0)]
)
def test_the_earliest_moment_one_may_be_back(back_at: list[float | None], earliest: float | None) -> None:
    workers = [worker(VERSION, f"i-{n}", refused=DOWN, back_at=second) for n, second in enumerate(back_at)]

    assert no_instance(served(VERSION, *workers), Terms(idle)).back_at == earliest


def test_a_range_is_judged_by_its_active_versions_and_tells_of_all() -> None:
    views = [
        served("v2.5.0", worker("v2.5.0"), status="draining"),
        served("v2.4.0", worker("v2.4.0", refused=EJECTED)),
    ]

    refusal = none_ready(MODEL, "^2", views, Terms(idle))

    assert (refusal.status, refusal.code, refusal.version) == (503, "no_verified_instance", Version(2, 4, 0))
    assert [one.version for one in refusal.rejected] == ["v2.5.0", "v2.4.0"]


def refusal_of(*workers: str, version: str = VERSION) -> NotRouted:
    view = served(version, *(worker(version, f"i-{n}", refused=text) for n, text in enumerate(workers, start=1)))
    resolution = resolve(fleet(view if workers else unserved(version)), asking(version))
    assert isinstance(resolution, Resolution)
    return not_routed(resolution, no_instance(resolution.view, Terms(idle)))


def test_a_version_without_an_instance_becomes_a_refusal_of_the_request() -> None:
    refusal = refusal_of(EJECTED, DOWN)

    assert (refusal.model_id, refusal.version, refusal.requested) == (MODEL, Version(2, 4, 0), VERSION)
    assert (refusal.reason, refusal.code) == (Reason.EXACT, "no_instance_up")


@pytest.mark.parametrize(
    ("workers", "told"),
    [
        ([], "v2.4.0 has no instances"),
        (["unverified"], "v2.4.0 has 1 instance: i-1 unverified"),
        (
            [EJECTED, DOWN],
            "v2.4.0 has 2 instances: i-1 ejected (digest differs), i-2 down (connection refused)",
        ),
        (
            ["unverified"] * 7,
            "v2.4.0 has 7 instances: i-1 unverified, i-2 unverified, i-3 unverified, i-4 unverified, "
            "i-5 unverified and 2 more",
        ),
    ],
)
def test_the_sentence_names_the_candidates(workers: list[str], told: str) -> None:
    detail = refusal_of(*workers).detail

    assert detail == f"{MODEL} v2.4.0: {told}; ask again after the time in Retry-After"
