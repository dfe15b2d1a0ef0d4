"""What is told of requests that move, beside what the router does before and after: with ten thousand users that name
nothing, and with every range that two versions and the forms of npm can make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest

from gateway.control.assemble import assemble
from gateway.control.documents import NO_DOCUMENTS, Documents
from gateway.edits.traffic import NOTHING_NAMED, traffic
from gateway.routing.asking import RouteRequest
from gateway.routing.decision import Decision
from gateway.routing.router import route as routed
from gateway.routing.snapshot import Snapshot
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
    return [answer(snapshot, RouteRequest(MODEL, sticky_key=f"user-{user}")) for user in range(USERS)]


def answer(snapshot: Snapshot, request: RouteRequest) -> str:
    outcome = routed(snapshot, request, in_flight=lambda _: 0, draw=0.5, now=0.0)
    return str(outcome.version) if isinstance(outcome, Decision) else str(outcome.status)


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


ALL = ("v1.0.0", "v1.0.1", "v1.1.0", "v1.2.0-rc.1", "v1.2.0", "v2.0.0", "v2.1.0")
Statuses = dict[str, str]
"""The status of each version there is."""


def ranges_of_clients() -> list[str]:
    numbers = [version.removeprefix("v") for version in ALL]
    simple = [form + number for form in ("^", "~", ">=", ">", "<", "<=") for number in numbers]
    partial = ["*", "^1", "~1", "1.x", "1", "2", "^1.1", "~1.1", "1.1", "1.2.x", "<2", ">1", "^3"]
    return [*simple, *partial, *(f">={low} <={high}" for low, high in product(numbers, numbers))]


def moves(before: Statuses, after: Statuses, ranges: Iterable[str]) -> set[tuple[str, str]]:
    """What the router answers before and after, of the ranges where that differs."""
    was, becomes = (
        fleet(*(served(version, model_id=MODEL, status=status) for version, status in side.items()), model_id=MODEL)
        for side in (before, after)
    )
    asked = [RouteRequest(MODEL, (text,)) for text in ranges]
    pairs = {(answer(was, request), answer(becomes, request)) for request in asked}
    return {pair for pair in pairs if pair[0] != pair[1]}


def contracts(statuses: Statuses) -> Documents:
    texts = {
        f"contracts/m/{version}": contract(version, "http://10.0.0.7:9000", status=status)
        for version, status in statuses.items()
    }
    return assemble(NO_DOCUMENTS, reading(texts))


ACTIVE = dict.fromkeys(ALL, "active")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param({"v1.0.0": "active"}, ACTIVE, id="many-come"),
        pytest.param(ACTIVE, {"v1.1.0": "active", "v2.0.0": "active"}, id="many-leave"),
        pytest.param(ACTIVE, ACTIVE | {"v2.1.0": "retired", "v1.2.0": "draining"}, id="the-highest-go"),
        pytest.param(ACTIVE | {"v1.2.0": "retired"}, ACTIVE | {"v1.1.0": "retired"}, id="one-comes-one-goes"),
        pytest.param({**ACTIVE, "v1.1.0": "draining"}, ACTIVE, id="one-is-back"),
        pytest.param(
            ACTIVE, {name: status for name, status in ACTIVE.items() if name != "v1.2.0-rc.1"}, id="a-pre-release-goes"
        ),
    ],
)
def test_ranges_move_as_told_and_no_range_moves_untold(before: Statuses, after: Statuses) -> None:
    told = traffic(contracts(before), contracts(after)).ranges
    pairs = {one.ranges: (one.before.split()[0], one.after.split()[0]) for one in told}

    happens = moves(before, after, ranges_of_clients())

    # A range so narrow that nothing is left in it on one side names one version, whose own line tells the same.
    assert {pair for pair in happens if all(one.startswith("v") for one in pair)} <= set(pairs.values())
    assert all(moves(before, after, ranges) == {pair} for ranges, pair in pairs.items())
