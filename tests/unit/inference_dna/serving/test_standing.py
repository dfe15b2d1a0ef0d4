from __future__ import annotations

from http import HTTPStatus
from typing import Any

import pytest

from inference_dna.assurance import Assurance
from inference_dna.canonical import Refused
from inference_dna.genome import genome
from inference_dna.measure.healthz import Served
from inference_dna.serving.standing import Standing, Status, gpu_name
from tests.support.manifests import genome_of, with_value

SERVED = Served("bert-base-chinese", "v2.4.0", Assurance.FULL_HASH)
GENOME = genome(genome_of())


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def ready() -> Standing:
    standing = Standing(SERVED)
    standing.measured(GENOME)
    standing.ready()
    return standing


def test_a_worker_begins_unmeasured_and_says_nothing() -> None:
    standing = Standing(SERVED)
    status, body = standing.health()

    assert status is HTTPStatus.SERVICE_UNAVAILABLE
    assert (body["status"], body["reason"]) == ("loading", "Nothing is measured yet.")
    assert "dna" not in body
    assert standing.headers() == []
    assert standing.gpu_name == "unknown"


def test_measured_is_not_yet_ready() -> None:
    standing = Standing(SERVED)
    for step in (standing.warming, lambda: standing.measured(GENOME)):
        step()
        status, body = standing.health()

        assert not standing.is_ok
        assert (status, body["status"]) == (HTTPStatus.SERVICE_UNAVAILABLE, "warming")


def test_a_ready_worker_says_what_it_is() -> None:
    standing = ready()
    status, body = standing.health()
    headers = dict(standing.headers("a" * 64))

    assert status is HTTPStatus.OK
    assert (body["status"], body["dna"], body["boot_id"]) == ("ok", GENOME.digests.dna(), standing.state.boot_id)
    assert headers["x-inference-dna"] == GENOME.digests.dna("a" * 64)
    assert headers["x-inference-digest"] == f"sha256:{GENOME.digests.runtime}"
    assert headers["x-model-version"] == "v2.4.0"


def test_a_worker_that_is_not_measured_cannot_be_ready() -> None:
    with pytest.raises(Refused, match="not measured"):
        Standing(SERVED).ready()


def test_a_change_takes_the_identity_away_and_begins_a_new_boot() -> None:
    standing = ready()
    before = standing.state.boot_id
    standing.changed("The adapter was loaded again.")

    assert standing.state.status is Status.LOADING
    assert standing.state.boot_id != before
    assert standing.headers() == []
    assert standing.health()[1]["reason"] == "The adapter was loaded again."
    with pytest.raises(Refused):
        standing.ready()


def test_uptime_is_whole_seconds_since_the_start() -> None:
    clock = Clock()
    standing = Standing(SERVED, clock=clock)
    clock.now += 12.9

    assert standing.health()[1]["uptime_seconds"] == 12


@pytest.mark.parametrize(
    ("accelerators", "name"),
    [
        pytest.param([], "cpu", id="none"),
        pytest.param([{"name": "NVIDIA A100", "count": 2}], "NVIDIA A100", id="one-kind"),
        pytest.param([{"name": "A"}, {"name": "B"}, {"name": "A"}], "A, B", id="each-kind-once"),
    ],
)
def test_the_name_of_the_gpu(accelerators: list[Any], name: str) -> None:
    assert gpu_name({"accelerators": accelerators}) == name
    changed = genome(with_value(genome_of(), "hardware.accelerators", accelerators))
    standing = Standing(SERVED)
    standing.measured(changed)
    assert standing.gpu_name == name


def test_notes_are_shown_at_the_end_while_the_worker_is_ok() -> None:
    standing = Standing(SERVED)
    standing.measured(GENOME, manifest="agrees")
    before = standing.health()[1]
    standing.ready()
    during = standing.health()[1]
    standing.changed("An adapter is being loaded.")
    after = standing.health()[1]

    assert list(during)[-1] == "manifest"
    assert during["manifest"] == "agrees"
    assert "manifest" not in before | after
