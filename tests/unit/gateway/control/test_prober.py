from __future__ import annotations

import pytest

from gateway.control.prober import Pace


def test_a_burst_goes_at_once_and_then_so_many_a_second() -> None:
    pace = Pace(100.0, burst=5)
    waits = [pace.wait_s(now=50.0) for _ in range(8)]

    assert waits == pytest.approx([0.0] * 6 + [0.01, 0.02])


def test_over_time_the_rate_holds() -> None:
    pace = Pace(100.0, burst=5)
    now = 0.0
    for _ in range(1000):
        now += pace.wait_s(now)

    assert 9.5 < now < 10.5


def test_quiet_time_saves_up_no_more_than_a_burst() -> None:
    pace = Pace(100.0, burst=5)
    pace.wait_s(now=0.0)
    waits = [pace.wait_s(now=1000.0) for _ in range(20)]

    assert sum(wait == 0.0 for wait in waits) <= 6
