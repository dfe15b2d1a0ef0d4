"""Two reads at once, then one a second."""

from __future__ import annotations

from gateway.sources.consul.pace import Pace


def test_two_at_once_then_one_a_second() -> None:
    pace, delays = Pace(at=10.0), []
    for _ in range(4):
        pace, delay_s = pace.take(10.0)
        delays.append(delay_s)
    assert delays == [0, 0, 1, 2]


def test_rest_fills_the_bucket_to_its_brim() -> None:
    pace = Pace(tokens=0.0, at=10.0)
    assert pace.take(10.5)[1] == 0.5
    assert pace.take(11.0)[1] == 0
    assert pace.take(1000.0)[0].tokens == 1
