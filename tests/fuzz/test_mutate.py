"""A short run of the byte mutations; longer ones by hand: `python -m tests.fuzz.mutate --seconds 600 --seed 7`."""

from __future__ import annotations

import random

import pytest

from tests.fuzz.answers import ANSWERS, check_answers
from tests.fuzz.mutate import run
from tests.fuzz.requests import REQUESTS, check_requests


@pytest.mark.parametrize("data", REQUESTS)
def test_every_seed_of_a_request_holds_as_it_is(data: bytes) -> None:
    check_requests(data, random.Random(0))


@pytest.mark.parametrize("data", ANSWERS)
def test_every_seed_of_an_answer_holds_as_it_is(data: bytes) -> None:
    check_answers(data, random.Random(0))


@pytest.mark.parametrize("seed", [1, 2])
def test_mutations_break_nothing(seed: int) -> None:
    assert run(seconds=2.0, seed=seed) > 100
