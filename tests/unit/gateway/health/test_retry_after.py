"""clients.md section 8; routing.md S8."""

from __future__ import annotations

import pytest

from gateway.health.retry_after import retry_after_s

ALMOST_ONE = 1 - 2**-53


@pytest.mark.parametrize(
    ("back_at", "least", "most"),
    [
        pytest.param(None, 5, 6, id="s8-nothing-known"),
        pytest.param(1030.0, 30, 36, id="s8-end-of-an-outlier-time"),
        pytest.param(1000.7, 1, 1, id="next-probe-of-a-suspect"),
        pytest.param(1001.5, 2, 2, id="rounded-up"),
        pytest.param(1000.0, 1, 1, id="now"),
        pytest.param(900.0, 1, 1, id="long-ago"),
        pytest.param(1300.0, 100, 120, id="at-most-two-minutes-and-still-spread"),
    ],
)
def test_seconds_until_asking_again_may_help(back_at: float | None, least: int, most: int) -> None:
    assert retry_after_s(back_at, now=1000.0, draw=0.0) == least
    assert retry_after_s(back_at, now=1000.0, draw=ALMOST_ONE) == most


@pytest.mark.parametrize("back_at", [None, 0.0, 1000.001, 1010.0, 1e9, float("inf")])
@pytest.mark.parametrize("draw", [0.0, 0.3, 0.7, ALMOST_ONE])
def test_it_is_always_a_whole_number_from_1_to_120(back_at: float | None, draw: float) -> None:
    seconds = retry_after_s(back_at, now=1000.0, draw=draw)

    assert isinstance(seconds, int)
    assert 1 <= seconds <= 120
