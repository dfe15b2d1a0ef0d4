"""http.md section 2.3: every 5 s, every second while down or suspect, 10 % either way."""

from __future__ import annotations

import pytest

from gateway.health.identity import Identity
from gateway.health.liveness import Liveness
from gateway.health.probe_schedule import next_probe_at


@pytest.mark.parametrize(
    ("identity", "liveness", "seconds"),
    [
        (Identity.VERIFIED, Liveness.UP, 5.0),
        (Identity.UNVERIFIED, Liveness.UP, 5.0),
        (Identity.EJECTED, Liveness.UP, 5.0),
        (Identity.SUSPECT, Liveness.UP, 1.0),
        (Identity.VERIFIED, Liveness.DOWN, 1.0),
        (Identity.UNVERIFIED, Liveness.DOWN, 1.0),
        (Identity.EJECTED, Liveness.DOWN, 1.0),
        (Identity.SUSPECT, Liveness.DOWN, 1.0),
    ],
)
def test_the_state_decides_how_soon(identity: Identity, liveness: Liveness, seconds: float) -> None:
    assert next_probe_at(identity, liveness, now=100.0, draw=0.5) == pytest.approx(100.0 + seconds)


@pytest.mark.parametrize(("draw", "at"), [(0.0, 104.5), (0.5, 105.0), (1.0, 105.5)])
def test_chance_moves_it_a_tenth_either_way(draw: float, at: float) -> None:
    assert next_probe_at(Identity.VERIFIED, Liveness.UP, now=100.0, draw=draw) == pytest.approx(at)


@pytest.mark.parametrize(
    ("liveness", "interval_s", "at"),
    [
        pytest.param(Liveness.UP, 30.0, 30.0, id="slow-by-setting"),
        pytest.param(Liveness.DOWN, 30.0, 1.0, id="quick-all-the-same"),
        pytest.param(Liveness.DOWN, 0.2, 0.2, id="quick-is-never-slower-than-the-interval"),
    ],
)
def test_the_interval_is_a_setting(liveness: Liveness, interval_s: float, at: float) -> None:
    due = next_probe_at(Identity.VERIFIED, liveness, now=0.0, draw=0.5, interval_s=interval_s)

    assert due == pytest.approx(at)
