"""32 different requests at once give on a real model, token by token, what each gives alone."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.planted import guarded
from tests.support.smollm2 import model_folder
from worker.backend import IsolationBroken
from worker.backends.causal_lm import CausalLM
from worker.generation import Ended, GenerationRequest, Settings, Token
from worker.isolation.guard import GuardedText
from worker.loader import Loader

pytestmark = [pytest.mark.models, pytest.mark.slow, pytest.mark.timeout(300)]

REQUESTS = 32
LOOKED_AT = 16
"""Every so-manieth answer: looking takes as long as a few tokens, and answers are as short here."""
PROMPTS = ("The capital of France is", "1, 2, 3,", "def add(a, b):", "Жил-был", "日本の首都は", "Once upon a time")


def request(backend: CausalLM, number: int) -> GenerationRequest:
    """One of many different requests, each a few tokens long."""
    chance = random.Random(number)
    settings = Settings(
        max_new_tokens=chance.randint(1, 4),
        temperature=chance.choice([0.0, 0.7, 1.0, 1.8]),
        top_p=chance.choice([1.0, 0.9]),
        top_k=chance.choice([0, 40]),
        repetition_penalty=chance.choice([1.0, 1.3]),
        seed=number,
        stop=tuple(chance.sample([" Paris", ",", "\n", "e"], chance.randint(0, 2))),
    )
    return GenerationRequest(backend.encode(chance.choice(PROMPTS)), settings)


@pytest.fixture(scope="module")
def backend() -> CausalLM:
    loaded = Loader(model_folder()).get().backend
    assert isinstance(loaded, CausalLM)
    return loaded


@pytest.fixture
def told() -> list[IsolationBroken]:
    return []


@pytest.fixture
def worker(backend: CausalLM, told: list[IsolationBroken]) -> GuardedText:
    return guarded(backend, told, every=LOOKED_AT)


def test_each_gets_what_it_gets_alone(backend: CausalLM, worker: GuardedText, told: list[IsolationBroken]) -> None:
    requests = [request(backend, number) for number in range(REQUESTS)]
    alone = [list(worker.generate(each, lambda: False)) for each in requests]

    def ask(number: int) -> list[Token | Ended]:
        if number % 8 == 0:
            left = worker.generate(requests[number - 1], lambda: False)
            next(left)
        return list(worker.generate(requests[number], lambda: False))

    with ThreadPoolExecutor(REQUESTS) as threads:
        together: list[Any] = list(threads.map(ask, range(REQUESTS)))

    assert together == alone
    assert len({tuple(map(str, items)) for items in alone}) > REQUESTS // 2
    assert told == []


def test_a_sound_worker_is_not_accused_whatever_is_asked(backend: CausalLM, told: list[IsolationBroken]) -> None:
    worker = guarded(backend, told)

    for number in range(6):
        items = worker.generate(request(backend, number), (number == 3).__bool__)
        assert isinstance(list(items)[-1], Ended)

    assert told == []
