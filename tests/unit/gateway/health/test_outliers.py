"""routing.md H4 and H5, http.md section 2.3: cap and panic."""

from __future__ import annotations

import pytest

from gateway.health.liveness import DownBy, Liveness, LivenessState
from gateway.health.outliers import may_go_down, may_serve, panics


@pytest.mark.parametrize(
    ("verified", "allowed"),
    [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (5, 2), (6, 3), (7, 3), (8, 4), (9, 4), (100, 50)],
)
def test_h4_half_of_the_verified_may_go_rounded_down(verified: int, allowed: int) -> None:
    gone = 0
    while may_go_down(verified, gone, verified - gone):
        gone += 1

    assert gone == allowed


@pytest.mark.parametrize(
    ("verified", "down_by_outlier", "up", "allowed"),
    [
        pytest.param(8, 0, 1, False, id="the-others-failed-their-probes"),
        pytest.param(8, 0, 2, True, id="one-stays"),
        pytest.param(8, 0, 0, False, id="none-up-at-all"),
        pytest.param(8, 4, 4, False, id="half-are-gone"),
        pytest.param(8, 3, 5, True, id="fewer-than-half-are-gone"),
    ],
)
def test_h4_never_the_last_one_up(verified: int, down_by_outlier: int, up: int, allowed: bool) -> None:
    assert may_go_down(verified, down_by_outlier, up) is allowed


@pytest.mark.parametrize(
    ("verified", "up", "panic"),
    [
        (0, 0, False),
        (1, 0, True),
        (1, 1, False),
        (2, 0, True),
        (2, 1, False),
        (3, 1, True),
        (3, 2, False),
        (4, 2, False),
        (4, 1, True),
        (8, 4, False),
        (8, 3, True),
    ],
)
def test_panic_begins_below_half(verified: int, up: int, panic: bool) -> None:
    assert panics(verified, up) is panic


@pytest.mark.parametrize(
    ("state", "calm", "panic"),
    [
        pytest.param(LivenessState(Liveness.UP), True, True, id="up"),
        pytest.param(LivenessState(Liveness.DOWN, DownBy.OUTLIER), False, True, id="outlier"),
        pytest.param(LivenessState(Liveness.DOWN, DownBy.PROBE), False, False, id="failed-probes"),
        pytest.param(LivenessState(Liveness.DOWN, DownBy.REFUSED), False, False, id="refused"),
        pytest.param(LivenessState(Liveness.DOWN, DownBy.NEW), False, False, id="never-probed"),
    ],
)
def test_panic_uses_outliers_and_nothing_else(state: LivenessState, calm: bool, panic: bool) -> None:
    assert may_serve(state, panic=False) is calm
    assert may_serve(state, panic=True) is panic
