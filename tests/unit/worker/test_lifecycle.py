from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from worker.demo.recipes import BUNDLES
from worker.lifecycle import Lifecycle, State, Status


def test_a_worker_begins_loading_and_without_identity() -> None:
    assert Lifecycle().state == State(Status.LOADING, "The bundle is being read.")


def test_a_good_bundle_ends_ok() -> None:
    lifecycle = Lifecycle()

    lifecycle.load(BUNDLES / "v2.3.1", {})

    assert lifecycle.state.status is Status.OK
    assert lifecycle.state.loaded is not None
    assert lifecycle.state.loaded.engine.infer("退款").answer.intent == "refund"


def test_every_stage_is_announced_and_the_identity_is_known_before_ok() -> None:
    stages: list[State] = []

    Lifecycle(stages.append).load(BUNDLES / "v2.3.1", {})

    assert [stage.status for stage in stages] == [Status.WARMING, Status.OK]
    assert stages[0].loaded is stages[1].loaded is not None


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        pytest.param({"postprocess_json": "{}"}, "exactly the members", id="post-processing"),
        pytest.param({"tokenizer_json": "{}"}, "tokenizer.json cannot be loaded", id="tokenizer"),
        pytest.param({"model_onnx": ""}, "'model.onnx' is no ONNX model", id="model"),
    ],
)
def test_a_bad_bundle_is_never_ok_and_says_why(copied: Callable[..., Path], texts: dict[str, str], says: str) -> None:
    lifecycle = Lifecycle()

    lifecycle.load(copied(**texts), {})

    assert lifecycle.state.status is Status.LOADING
    assert says in lifecycle.state.reason
    assert lifecycle.state.loaded is None


def test_an_unexpected_failure_is_a_state_and_is_not_swallowed() -> None:
    def stumble(state: State) -> None:
        if state.status is Status.WARMING:
            raise ZeroDivisionError

    lifecycle = Lifecycle(stumble)
    with pytest.raises(ZeroDivisionError):
        lifecycle.load(BUNDLES / "v2.3.1", {})

    assert lifecycle.state.status is Status.LOADING
    assert "ZeroDivisionError" in lifecycle.state.reason
    assert lifecycle.state.loaded is None
