"""What nobody can answer for, by version and by canary rule."""

from __future__ import annotations

from typing import Any

import pytest

from contracts.version import Version
from gateway.control.coverage import NONE, Coverage, coverage_changes
from gateway.telemetry.changes import ChangeKind as Kind
from tests.support.control import Story, contract, route, stated

A, B = "http://10.0.0.1:8000", "http://10.0.0.2:8000"
V1, V2 = Version.parse("v1.0.0"), Version.parse("v2.0.0")


def canary(**fields: Any) -> str:
    return route(default="v1.0.0", canary_rules=[{"version": "v2.0.0", "traffic_percentage": 5, **fields}])


def told(*texts: str, seed: str = "b") -> list[tuple[Kind, str]]:
    """What is told after the only instance of v2.0.0 answered its first probe."""
    story = Story()
    story.apply(contract("v1.0.0", A), *texts)
    story.probe(A)
    if story.key(B, "v2.0.0") in story.fleet.tracked:
        story.probe(B, stated(seed, version="v2.0.0"), version="v2.0.0")
    wanted = {Kind.CANARY_RETURNED, Kind.VERSION_UNSERVED}
    return [(change.kind, change.reason) for change in story.told if change.kind in wanted]


@pytest.mark.parametrize(
    ("texts", "kinds"),
    [
        pytest.param([contract("v2.0.0", B, accepts="b"), canary()], [], id="it-serves"),
        pytest.param([canary()], [Kind.CANARY_RETURNED], id="no-contract"),
        pytest.param(
            [contract("v2.0.0", accepts="b"), canary()],
            [Kind.VERSION_UNSERVED, Kind.CANARY_RETURNED],
            id="no-instances",
        ),
        pytest.param(
            [contract("v2.0.0", B, accepts="b", status="draining"), canary()], [Kind.CANARY_RETURNED], id="draining"
        ),
        pytest.param([contract("v2.0.0", B, accepts="b"), canary(dna_prefix="bbbb")], [], id="with-its-prefix"),
        pytest.param(
            [contract("v2.0.0", B, accepts="b"), canary(dna_prefix="cccc")], [Kind.CANARY_RETURNED], id="another-prefix"
        ),
        pytest.param([canary(traffic_percentage=0)], [], id="no-share-to-give-back"),
    ],
)
def test_what_is_amiss_is_told(texts: list[str], kinds: list[Kind]) -> None:
    assert [kind for kind, _ in told(*texts)] == kinds


def test_the_reasons_of_the_instances_are_told_with_it() -> None:
    reasons = dict(told(contract("v2.0.0", B, accepts="b"), seed="c"))

    assert reasons[Kind.VERSION_UNSERVED] == "10.0.0.2:8000 ejected: digest differs"


def test_a_version_that_is_no_longer_wanted_is_not_called_served() -> None:
    before = Coverage({V1: "", V2: ""}, frozenset(), frozenset())
    story = Story()
    story.apply(contract("v1.0.0", A, status="retired"))
    model = story.fleet.current().models["m"]
    kinds = {change.version: change.kind for change in coverage_changes("m", before, NONE, model, generation=1)}

    assert kinds == {"v1.0.0": Kind.VERSION_WITHDRAWN, "v2.0.0": Kind.VERSION_WITHDRAWN}
    assert len(list(coverage_changes("m", before, NONE, None, generation=1))) == 2
