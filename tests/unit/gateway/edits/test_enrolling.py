"""Which running workers may be written into a contract, and as what."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from contracts.contract import parse_contract
from gateway.edits.enrolling import Stated, candidates, entries
from inference_dna.observation import NO_ANSWER, Observation
from tests.support.control import contract, digest, dna

GOOD = Observation(200, status="ok", dna=dna("b"), digest=digest("b"), model_id="m", version="1.0.0")
GPU = {"accelerators": [{"name": "NVIDIA A100"}]}


def candidate(seen: Observation, failure: str = "", **fields: Any) -> Any:
    (one,) = candidates(parse_contract(contract("v1.0.0", **fields)), [Stated("a:1", seen, {}, failure)])
    return one


def test_a_new_runtime() -> None:
    one = candidate(replace(GOOD, hardware=GPU))

    assert one.is_new
    assert entries([one]) == [{"dna": dna("b"), "digest": digest("b"), "label": "NVIDIA A100"}]
    assert len(entries([one, one])) == 1


def test_a_worker_that_sends_no_digest_is_enrolled_by_its_dna() -> None:
    one = candidate(replace(GOOD, digest=None, hardware={"machine": "x86_64"}))

    assert entries([one]) == [{"dna": dna("b"), "label": "x86_64"}]


@pytest.mark.parametrize("sends_digest", [True, False])
def test_what_is_accepted_already(sends_digest: bool) -> None:
    seen = replace(GOOD, dna=dna("a"), digest=digest("a") if sends_digest else None)
    entry = {"dna": dna("a"), "digest": digest("a")} if sends_digest else {"dna": dna("a")}

    one = candidate(seen, dna=[entry])

    assert one.is_known
    assert not one.is_new


@pytest.mark.parametrize(
    ("seen", "failure", "says"),
    [
        pytest.param(NO_ANSWER, "no answer from a:1", "no answer from a:1", id="silent"),
        pytest.param(replace(GOOD, status="loading"), "", "its status is 'loading'", id="not-ready"),
        pytest.param(replace(GOOD, model_id="n"), "", "it is of the model n", id="another-model"),
        pytest.param(replace(GOOD, version="v1.0.1"), "", "it is of the version v1.0.1", id="another-version"),
        pytest.param(replace(GOOD, dna=None), "", "is no DNA", id="no-dna"),
        pytest.param(replace(GOOD, dna=dna("c")), "", "do not belong together", id="torn"),
        pytest.param(replace(GOOD, digest="md5:1"), "", "digest", id="foreign-digest"),
    ],
)
def test_what_must_not_become_the_truth(seen: Observation, failure: str, says: str) -> None:
    one = candidate(seen, failure)

    assert says in one.refusal
    assert not one.is_new
    assert not one.is_known
