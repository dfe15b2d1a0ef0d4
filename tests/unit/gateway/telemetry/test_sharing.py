"""Gauges of the shared verdicts."""

from __future__ import annotations

from dataclasses import replace

from prometheus_client import CollectorRegistry

from gateway.sharing.state import SharingState
from gateway.telemetry.sharing import SharingGauges

STATE = SharingState(
    place="consul://127.0.0.1:8500/inference-fleet",
    member="a~1",
    members=("a~1", "b~1"),
    problem="",
    instances=12,
    probed=9,
    doubted_elsewhere=1,
    told=3,
    left_out=2,
    heard_seconds_ago=0.5,
)


def test_the_gauges_show_the_state_of_the_moment() -> None:
    states = [STATE]
    registry = CollectorRegistry()
    SharingGauges(registry, lambda: states[-1])

    def value(name: str) -> float | None:
        return registry.get_sample_value(f"gateway_sharing_{name}")

    names = ("members", "probed_instances", "doubted_elsewhere", "left_out", "heard_seconds")
    assert [value(name) for name in names] == [2, 9, 1, 2, 0.5]
    states.append(replace(STATE, member=None, members=(), problem="away", heard_seconds_ago=None))
    assert [value(name) for name in names] == [0, 9, 1, 2, None]
