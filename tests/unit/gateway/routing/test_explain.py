"""A decision as plain data."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateway.routing.asking import RouteRequest
from gateway.routing.explain import explain
from gateway.routing.snapshot import EMPTY, Snapshot
from tests.support.fleets import GENERATION, MODEL, asking, busy, fleet, served, unserved, worker

ROUTE = {"default": "v2.4.0", "canary_rules": [{"version": "v2.5.0", "traffic_percentage": 30, "dna_prefix": "a1b2"}]}


def told(snapshot: Snapshot, request: RouteRequest) -> Any:
    """What a reader of the endpoint gets: it must survive JSON."""
    return json.loads(json.dumps(explain(snapshot, request, in_flight=busy(c=9), draw=0.0, now=0.0)))


def test_a_decision() -> None:
    workers = [worker("v2.4.0", name, weight=0.5 if name == "c" else 1.0) for name in "abc"]
    snapshot = fleet(served("v2.4.0", *workers, worker("v2.4.0", "d", refused="down: probes failed")), "v2.5.0")

    assert told(snapshot, asking("^2.4 <2.5", prefix="a1")) == {
        "generation": GENERATION,
        "model": MODEL,
        "requested": "^2.4 <2.5",
        "reason": "range",
        "version": "v2.4.0",
        "instance": "a",
        "dna_prefix": "a1",
        "canary": None,
        "candidates": [
            {"version": "v2.4.0", "instance": "a", "weight": 1.0, "kept": True, "reason": "picked"},
            {"version": "v2.4.0", "instance": "b", "weight": 1.0, "kept": True, "reason": "picker: not drawn"},
            {
                "version": "v2.4.0",
                "instance": "c",
                "weight": 0.5,
                "kept": True,
                "reason": "scorer: more in flight for its weight",
            },
            {"version": "v2.4.0", "instance": "d", "weight": 1.0, "kept": False, "reason": "down: probes failed"},
            {
                "version": "v2.5.0",
                "instance": "i-1",
                "weight": 1.0,
                "kept": False,
                "reason": "version: range chose v2.4.0",
            },
        ],
    }


def test_a_refusal() -> None:
    snapshot = fleet(served("v2.4.0", status="retired", successor="v2.5.0"), "v2.5.0")

    assert told(snapshot, asking("v2.4.0")) == {
        "generation": GENERATION,
        "model": MODEL,
        "requested": "v2.4.0",
        "reason": "exact",
        "version": "v2.4.0",
        "instance": None,
        "dna_prefix": None,
        "canary": None,
        "candidates": [{"version": "v2.4.0", "instance": "i-1", "weight": 1.0, "kept": False, "reason": "retired"}],
        "status": 410,
        "code": "version_retired",
        "detail": f"{MODEL} v2.4.0 is retired; use v2.5.0",
        "available": ["v2.5.0"],
        "successor": "v2.5.0",
    }


def test_a_refusal_before_any_model() -> None:
    document = told(EMPTY, asking())

    assert (document["code"], document["model"], document["reason"], document["version"]) == (
        "not_configured",
        None,
        None,
        None,
    )
    assert (document["canary"], document["candidates"], document["successor"]) == (None, [], None)


def test_a_key_inside_the_canary() -> None:
    document = told(fleet("v2.4.0", "v2.5.0", route=ROUTE), asking(key=key_in_canary(True)))

    assert (document["version"], document["reason"]) == ("v2.5.0", "canary")
    canary = document["canary"]
    assert canary["slice"]["low"] <= canary["bucket"] < canary["slice"]["high"]
    assert (canary["slice"]["version"], canary["slice"]["dna_prefix"], canary["returned"]) == ("v2.5.0", "a1b2", False)


def test_a_key_outside_the_canary() -> None:
    document = told(fleet("v2.4.0", "v2.5.0", route=ROUTE), asking(key=key_in_canary(False)))

    assert (document["version"], document["reason"]) == ("v2.4.0", "default")
    assert document["canary"]["slice"] is None
    assert document["canary"]["returned"] is False
    assert 0 <= document["canary"]["bucket"] < 1


@pytest.mark.parametrize("stable", [served("v2.4.0"), unserved("v2.4.0")])
def test_k9_a_canary_that_gave_its_share_back(stable: Any) -> None:
    document = told(fleet(stable, unserved("v2.5.0"), route=ROUTE), asking(key=key_in_canary(True)))

    assert (document["version"], document["reason"]) == ("v2.4.0", "default")
    assert document["canary"]["slice"]["version"] == "v2.5.0"
    assert document["canary"]["returned"] is True


@pytest.mark.parametrize("request_", [asking("v2.4.0"), asking(prefix="a1b2")])
def test_canary_rules_that_were_not_asked_are_not_told(request_: RouteRequest) -> None:
    assert told(fleet("v2.4.0", "v2.5.0", route=ROUTE), request_)["canary"] is None


def key_in_canary(inside: bool) -> str:
    snapshot = fleet("v2.4.0", "v2.5.0", route=ROUTE)
    keys = (f"user-{number}" for number in range(1000))
    return next(key for key in keys if (told(snapshot, asking(key=key))["reason"] == "canary") is inside)
