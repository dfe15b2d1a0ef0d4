from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from inference_dna.canonical import Refused
from inference_dna.guard import UNPROVEN, GuardRefused
from inference_dna.measure.healthz import Served
from inference_dna.serving.standing import Standing, Status
from worker.backend import IsolationBroken
from worker.bundle import BundleRefused
from worker.demo.recipes import BUNDLES
from worker.lifecycle import UNLOADABLE, Crash, Lifecycle, State, crash_of
from worker.loader import Loader
from worker.readiness import Demands, SelfTestFailed

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
def test_a_bundle_that_cannot_be_loaded_ends_the_worker_with_one_sentence(
    standing: Standing, copied: Callable[..., Path], texts: dict[str, str], says: str
) -> None:
    ends: list[Crash] = []
    lifecycle = Lifecycle(standing, end=ends.append)

    lifecycle.load(Loader(copied(**texts)), {})

    (crash,) = ends
    assert crash.code == UNLOADABLE == 88
    assert says in crash.report
    assert crash.report.count("\n") == 1
    assert lifecycle.state == State(Status.LOADING, crash.report.strip())


def test_a_failure_that_nobody_foresaw_ends_the_worker_and_is_told_in_full(standing: Standing) -> None:
    def stumble(state: State) -> None:
        if state.status is Status.WARMING:
            raise ZeroDivisionError("by nothing")

    ends: list[Crash] = []
    lifecycle = Lifecycle(standing, announce=stumble, end=ends.append)
    lifecycle.load(Loader(SMALLEST), {})

    (crash,) = ends
    assert crash.code == UNPROVEN
    assert crash.report.startswith("The start ended in an unexpected ZeroDivisionError: by nothing\nTraceback")
    assert lifecycle.state == State(Status.LOADING, crash.report.splitlines()[0])


@pytest.mark.parametrize(
    ("error", "is_loaded", "code"),
    [
        pytest.param(BundleRefused("no file"), False, 88, id="cannot-be-loaded"),
        pytest.param(MemoryError("too large"), False, 88, id="nobody-foresaw-it"),
        pytest.param(Refused("no fact"), True, 87, id="cannot-be-measured"),
        pytest.param(SelfTestFailed("twice otherwise"), True, 87, id="self-test"),
        pytest.param(IsolationBroken("model.x", "appeared"), True, 87, id="isolation"),
        pytest.param(GuardRefused("another", code=86), True, 86, id="something-else-than-promised"),
    ],
)
def test_how_a_start_failed_decides_the_code(error: Exception, is_loaded: bool, code: int) -> None:
    crash = crash_of(error, is_loaded=is_loaded)

    assert crash.code == code
    assert str(error) in crash.report


def test_paragraphs_of_a_library_become_one_line() -> None:
    assert crash_of(BundleRefused("It says:\n  one\n\n  two."), is_loaded=False).report == "It says: one two.\n"


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
