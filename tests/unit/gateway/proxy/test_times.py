"""Which time limit of an exchange is over."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from contracts.terms import Timeouts
from gateway.proxy.times import Times, utc

TIMEOUTS = Timeouts(first_byte_s=10, first_byte_stream_s=5, upstream_gap_s=3, total_s=20)


def moments(arrived_at: float, **others: float) -> Times:
    times = Times(arrived_at)
    for name, moment in others.items():
        setattr(times, name, moment)
    return times


@pytest.mark.parametrize(
    ("times", "now", "stream", "overdue"),
    [
        pytest.param({}, 10.0, False, None, id="waiting-for-a-head"),
        pytest.param({}, 10.1, False, "no answer within 10 s", id="no-head"),
        pytest.param({}, 5.1, False, None, id="a-stream-has-less-time"),
        pytest.param({}, 5.1, True, "no answer within 5 s", id="no-head-of-a-stream"),
        pytest.param({"head_at": 8.0, "last_read_at": 8.0}, 11.0, False, None, id="between-bytes"),
        pytest.param({"head_at": 8.0, "last_read_at": 8.0}, 11.1, False, "nothing more within 3 s", id="gap"),
        pytest.param({"head_at": 1.0, "last_read_at": 99.0}, 100.0, True, None, id="streams-have-no-total"),
        pytest.param({"head_at": 1.0, "last_read_at": 19.0}, 20.0, False, None, id="total-not-over"),
        pytest.param({"head_at": 1.0, "last_read_at": 19.0}, 20.1, False, "no complete answer within 20 s", id="total"),
    ],
)
def test_limits(times: dict[str, Any], now: float, stream: bool, overdue: str | None) -> None:
    assert moments(0.0, **times).overdue(TIMEOUTS, now, sent_at=0.0, stream=stream) == overdue


def test_durations_are_measured_from_the_complete_request() -> None:
    times = moments(100.0, first_byte_at=100.25, ended_at=100.5)

    assert times.first_byte_ms == 250.0
    assert times.duration_ms == 500.0
    assert times.upstream_s(100.1) == pytest.approx(0.4)
    assert Times(100.0).first_byte_ms is None


def test_a_wall_clock_second_as_a_moment() -> None:
    assert utc(0.0) == datetime(1970, 1, 1, tzinfo=UTC)
