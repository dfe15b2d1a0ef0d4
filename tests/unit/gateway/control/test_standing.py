from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gateway.control.standing import Head, Probe, gpu_name, like_before
from gateway.health.liveness import ProbeOutcome
from inference_dna.observation import Observation


@pytest.mark.parametrize(
    ("hardware", "name"),
    [
        pytest.param({"accelerators": [{"name": "NVIDIA A100", "count": 1}]}, "NVIDIA A100", id="the-form-of-a-genome"),
        pytest.param({"accelerators": []}, None, id="none-there"),
        pytest.param({"gpu_name": "T4"}, "T4", id="a-small-worker"),
        pytest.param({"gpu": "T4"}, "T4", id="a-smaller-one"),
        pytest.param({"accelerators": ["A100"]}, None, id="another-form"),
        pytest.param({"accelerators": [{"name": 5}]}, None, id="no-text"),
        pytest.param({}, None, id="nothing-said"),
        pytest.param(None, None, id="no-hardware"),
    ],
)
def test_the_gpu_is_named_where_the_worker_names_one(hardware: dict[str, Any] | None, name: str | None) -> None:
    assert gpu_name(hardware) == name


@pytest.mark.parametrize(
    ("eligible", "up", "outliers", "panic"),
    [
        pytest.param(4, 2, 2, False, id="half-are-up"),
        pytest.param(4, 1, 2, True, id="fewer-than-half"),
        pytest.param(4, 1, 0, False, id="no-outlier-that-could-be-used"),
        pytest.param(0, 0, 0, False, id="nobody"),
    ],
)
def test_panic_needs_an_outlier_that_can_be_used(eligible: int, up: int, outliers: int, panic: bool) -> None:
    assert Head(eligible, up, outliers).panic is panic


def test_an_observation_is_kept_for_as_long_as_probes_state_the_same() -> None:
    before = Probe(1.0, ProbeOutcome.OK, 0.1, "", Observation(200, "ok", hardware={"gpu": "T4"}), 0.9)
    same = Probe(6.0, ProbeOutcome.OK, 0.2, "", Observation(200, "ok", hardware={"gpu": "T4"}), 5.8)
    other = replace(same, observation=Observation(200, "ok", hardware={"gpu": "L4"}))

    assert like_before(same, before) == same
    assert like_before(same, before).observation is before.observation
    assert like_before(other, before) is other
    assert like_before(same, None) is same
