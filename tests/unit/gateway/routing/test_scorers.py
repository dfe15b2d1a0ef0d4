"""How well instances suit a request."""

from __future__ import annotations

import pytest

from gateway.routing.scorers import closest, effective_weight, nearness
from tests.support.fleets import A100, H100, worker

VERSION = "v2.4.0"


@pytest.mark.parametrize(
    ("dna", "wish", "shared"),
    [
        pytest.param(A100, A100, 8, id="equal-counts-the-runtime-only"),
        pytest.param(A100, A100[:8] + "00000000", 8, id="another-input"),
        pytest.param(A100, "a1b2c3d5" + A100[8:], 7, id="all-but-one"),
        pytest.param(A100, "a1b2ffff00000000", 4, id="the-stack"),
        pytest.param(A100, H100, 0, id="nothing"),
        pytest.param(None, A100, 0, id="unknown"),
    ],
)
def test_nearness_to_a_wish(dna: str | None, wish: str, shared: int) -> None:
    assert nearness(worker(VERSION, dna=dna), wish) == shared


def test_the_closest_keep_their_order() -> None:
    a, b, c = worker(VERSION, "a"), worker(VERSION, "b", dna=H100), worker(VERSION, "c")

    assert closest([a, b, c], A100) == [a, c]
    assert closest([a, b, c], "f" * 16) == [a, b, c]


@pytest.mark.parametrize(
    ("age", "weight"), [(-1.0, 0.2), (0.0, 0.2), (10.0, 0.8), (15.0, 1.1), (30.0, 2.0), (9999.0, 2.0)]
)
def test_weight_grows_over_slow_start(age: float, weight: float) -> None:
    instance = worker(VERSION, weight=2.0, ready_since=100.0)

    assert effective_weight(instance, now=100.0 + age, slow_start_s=30.0) == pytest.approx(weight)


def test_slow_start_can_be_switched_off() -> None:
    assert effective_weight(worker(VERSION, ready_since=100.0), now=100.0, slow_start_s=0.0) == 1.0
