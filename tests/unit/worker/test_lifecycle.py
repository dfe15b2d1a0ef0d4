from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from inference_dna.measure.healthz import Served
from inference_dna.serving.standing import Standing, Status
from worker.backend import IsolationBroken
from worker.demo.recipes import BUNDLES
from worker.lifecycle import Crash, Lifecycle, State
from worker.loader import Loader
from worker.readiness import Demands

SMALLEST = BUNDLES / "v2.3.1"


@pytest.fixture
def standing(served: Served) -> Standing:
    return Standing(served)


def test_a_worker_begins_loading_and_without_identity(standing: Standing) -> None:
    assert Lifecycle(standing).state == State(Status.LOADING, "The bundle is being read.")


def test_a_good_bundle_ends_ok(standing: Standing) -> None:
    lifecycle = Lifecycle(standing)

    lifecycle.load(Loader(SMALLEST), {})

    loaded = lifecycle.state.loaded
    assert standing.is_ok
    assert loaded is not None
    assert loaded.text is None
    assert loaded.classifier is not None
    assert loaded.classifier.classify(["退款"])[0].answer.intent == "refund"


def test_every_stage_is_announced_and_the_identity_is_known_before_ok(standing: Standing) -> None:
    stages: list[State] = []

    Lifecycle(standing, announce=stages.append).load(Loader(SMALLEST), {})

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
def test_a_bad_bundle_is_never_ok_and_says_why(
    standing: Standing, copied: Callable[..., Path], texts: dict[str, str], says: str
) -> None:
    lifecycle = Lifecycle(standing)

    lifecycle.load(Loader(copied(**texts)), {})

    assert lifecycle.state.status is Status.LOADING
    assert says in lifecycle.state.reason
    assert lifecycle.state.loaded is None


def test_an_unexpected_failure_is_a_state_and_is_not_swallowed(standing: Standing) -> None:
    def stumble(state: State) -> None:
        if state.status is Status.WARMING:
            raise ZeroDivisionError

    lifecycle = Lifecycle(standing, announce=stumble)
    with pytest.raises(ZeroDivisionError):
        lifecycle.load(Loader(SMALLEST), {})

    assert lifecycle.state.status is Status.LOADING
    assert "ZeroDivisionError" in lifecycle.state.reason
    assert lifecycle.state.loaded is None


def test_a_violation_ends_the_standing_and_names_the_field(standing: Standing) -> None:
    stages: list[State] = []
    lifecycle = Lifecycle(standing, announce=stages.append)
    lifecycle.load(Loader(SMALLEST), {})
    boot_id = standing.state.boot_id

    for field in ("model.first", "model.second"):
        lifecycle.broken(IsolationBroken(field, "appeared"))

    assert (lifecycle.state.status, lifecycle.state.loaded) == (Status.PENDING, None)
    assert "model.first appeared. Restart this worker." in lifecycle.state.reason
    assert standing.state.boot_id != boot_id
    assert [stage.status for stage in stages].count(Status.PENDING) == 1


def test_a_worker_that_must_be_what_its_manifest_promises_ends_where_nobody_signed_that(standing: Standing) -> None:
    ends: list[Crash] = []
    lifecycle = Lifecycle(standing, end=ends.append)

    lifecycle.load(Loader(SMALLEST), {}, Demands(manifest=SMALLEST / "manifest.json"))

    (crash,) = ends
    assert crash.code == 87
    assert "must not start" in crash.report
    assert not standing.is_ok


def test_a_deterministic_worker_tests_itself_and_is_ok(standing: Standing) -> None:
    lifecycle = Lifecycle(standing)

    lifecycle.load(Loader(SMALLEST, deterministic=True), {}, Demands(deterministic=True))

    assert standing.is_ok
