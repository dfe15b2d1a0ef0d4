"""What is told of requests that move, beside what the router does with ten thousand users before and after."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from gateway.control.assemble import assemble
from gateway.control.documents import NO_DOCUMENTS, Documents
from gateway.edits.traffic import NOTHING_NAMED, traffic
from gateway.routing.asking import RouteRequest
from gateway.routing.decision import Decision
from gateway.routing.router import route as routed
from tests.support.control import MODEL, contract, reading, route
from tests.support.fleets import fleet, served

USERS = 10_000
NEAR = 0.02
"""Four standard deviations of a share among so many users."""
VERSIONS = ("v1.0.0", "v1.1.0", "v1.2.0")
FIVE, MORE = [{"version": "v1.1.0", "traffic_percentage": 5}], [{"version": "v1.1.0", "traffic_percentage": 25}]
THIRD = {"version": "v1.2.0", "traffic_percentage": 10}

Side = tuple[dict[str, Any], dict[str, str]]
"""The members of a route, and the status of versions that are not active."""


def documents(side: Side) -> Documents:
    fields, status = side
    texts = {
        f"contracts/m/{version}": contract(version, "http://10.0.0.7:9000", status=status.get(version, "active"))
        for version in VERSIONS
    }
    return assemble(NO_DOCUMENTS, reading({**texts, "routes/m": route(**fields)}))


def answers(side: Side) -> list[str]:
    """The version that answers each user, by the router that requests go through."""
    fields, status = side
    views = [served(version, model_id=MODEL, status=status.get(version, "active")) for version in VERSIONS]
    snapshot = fleet(*views, route=fields, model_id=MODEL)
    found = []
    for user in range(USERS):
        request = RouteRequest(MODEL, sticky_key=f"user-{user}")
        outcome = routed(snapshot, request, in_flight=lambda _: 0, draw=0.5, now=0.0)
        found.append(str(outcome.version) if isinstance(outcome, Decision) else str(outcome.status))
    return found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(({"canary_rules": FIVE}, {}), ({"canary_rules": MORE}, {}), id="a-larger-share"),
        pytest.param(({"canary_rules": MORE}, {}), ({"canary_rules": []}, {}), id="the-rule-removed"),
        pytest.param(
            ({"canary_rules": [*MORE, THIRD]}, {}), ({"canary_rules": [THIRD, *MORE]}, {}), id="rules-swapped"
        ),
        pytest.param(({"canary_rules": MORE}, {}), ({"canary_rules": MORE, "default": "^1"}, {}), id="another-default"),
        pytest.param(
            ({"canary_rules": MORE}, {}), ({"canary_rules": MORE}, {"v1.1.0": "retired"}), id="the-canary-retires"
        ),
        pytest.param(
            ({"canary_rules": MORE}, {}), ({"canary_rules": MORE}, {"v1.0.0": "draining"}), id="the-default-drains"
        ),
        pytest.param(({"canary_rules": MORE}, {}), ({"canary_rules": MORE, "salt": "new"}, {}), id="another-salt"),
    ],
)
def test_what_is_told_is_what_happens(before: Side, after: Side) -> None:
    sides = [({"default": "v1.0.0", **fields}, status) for fields, status in (before, after)]
    moves = traffic(*map(documents, sides)).moved
    told = {(one.before.split()[0], one.after.split()[0]): one.share for one in moves if one.asked == NOTHING_NAMED}

    pairs = Counter(pair for pair in zip(*map(answers, sides), strict=True) if pair[0] != pair[1])

    assert told
    assert {pair: count / USERS for pair, count in pairs.items()} == pytest.approx(told, abs=NEAR)
