"""A language model answers each request as if it were alone."""

from __future__ import annotations

import gc
import os
import random
import tracemalloc
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from inference_dna.binding.pack import pack_generator
from inference_dna.binding.settings import BoundSettings
from inference_dna.canonical import Refused
from tests.support.long import LONG
from tests.support.planted import asked, guarded
from tests.support.procfs import rss
from tests.support.tiny_bundle import language_model
from worker.backends.causal_lm import CausalLM, load_causal_lm
from worker.backends.packed_generator import PackedGenerator, load_packed_generator
from worker.backends.torch_process import settle
from worker.bundle import BundleRefused
from worker.fault import RequestRefused
from worker.generation import Allowed, Ended, GenerationRequest, Settings, Token
from worker.isolation.guard import GuardedText, IsolationGuard
from worker.sealed import Sealed, read_sealed

pytestmark = pytest.mark.models
ARCHITECTURE = "LlamaForCausalLM"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return language_model(tmp_path_factory.mktemp("causal") / "letters")


@pytest.fixture(scope="module")
def model(folder: Path) -> CausalLM:
    settle(deterministic=False)
    return load_causal_lm(folder, ARCHITECTURE, Sealed())


def mixed(number: int) -> tuple[str, dict[str, Any]]:
    """One of many different requests."""
    chance = random.Random(number)
    settings = {
        "max_new_tokens": chance.randint(1, 8),
        "temperature": chance.choice([0.0, 0.4, 1.0, 1.7]),
        "top_p": chance.choice([1.0, 0.9, 0.3]),
        "top_k": chance.choice([0, 1, 5]),
        "repetition_penalty": chance.choice([1.0, 1.3, 0.8]),
        "seed": chance.randint(0, 9),
        "stop": tuple(chance.sample("abcdefgh", chance.randint(0, 2))),
    }
    return "".join(chance.choices("abcdefghijk", k=chance.randint(1, 20))), settings


def ids(items: Sequence[Token | Ended]) -> list[int]:
    return [item.id for item in items if isinstance(item, Token)]


def text(items: Sequence[Token | Ended]) -> str:
    return "".join(item.text for item in items if isinstance(item, Token))


def test_mixed_requests_at_once_give_what_each_gives_alone(model: CausalLM) -> None:
    requests = [mixed(number) for number in range(200)]
    alone = [asked(model, prompt, **settings) for prompt, settings in requests]

    def ask(number: int) -> list[Token | Ended]:
        if number % 4 == 0:
            _leave(model, number)
        prompt, settings = requests[number]
        return asked(model, prompt, **settings)

    with ThreadPoolExecutor(32) as threads:
        together = list(threads.map(ask, range(len(requests))))

    assert together == alone
    assert len({tuple(ids(items)) for items in alone}) > 50


def _leave(model: CausalLM, number: int) -> None:
    """Ask, and go after two tokens: half of the time by saying so, half of the time without a word."""
    wanted = [False]
    prompt, settings = mixed(1000 + number)
    request = GenerationRequest(model.encode(prompt), Settings(**{**settings, "max_new_tokens": 30, "stop": ()}))
    items = model.generate(request, lambda: wanted[0])
    next(items), next(items)
    wanted[0] = True
    if number % 8 == 0:
        assert next(items) == Ended("cancelled", len(request.token_ids), 2)


def test_five_different_requests_in_a_row_leave_the_defaults_alone(model: CausalLM) -> None:
    before = model.defaults, asked(model), vars(model.model.generation_config).copy()

    for number in range(5):
        asked(model, **mixed(number)[1])

    assert (model.defaults, asked(model), vars(model.model.generation_config)) == before


@pytest.mark.parametrize("settings", [{}, {"repetition_penalty": 1.5}], ids=["greedy", "penalty"])
def test_it_chooses_what_the_library_would_choose(model: CausalLM, settings: dict[str, Any]) -> None:
    import torch

    prompt = torch.tensor([model.encode("hello")])
    theirs = model.model.generate(
        prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=12, do_sample=False, pad_token_id=0, **settings
    )

    assert ids(asked(model, max_new_tokens=12, **settings)) == theirs[0, prompt.shape[1] :].tolist()


def test_it_draws_what_the_packed_generator_of_the_same_model_draws(model: CausalLM, tmp_path: Path) -> None:
    packed = _packed(model, tmp_path, do_sample=True, temperature=0.8, top_k=7, top_p=0.9, repetition_penalty=1.2)

    sealed: dict[str, Any] = {"temperature": 0.8, "top_k": 7, "top_p": 0.9, "repetition_penalty": 1.2}
    for seed in range(5):
        assert ids(asked(packed, seed=seed)) == ids(asked(model, seed=seed, **sealed))


def test_a_packed_generator_leaves_length_stops_and_seed_to_requests(model: CausalLM, tmp_path: Path) -> None:
    packed = _packed(model, tmp_path, do_sample=True, temperature=0.7)

    assert packed.allowed == Allowed(frozenset({"max_new_tokens", "stop", "seed"}), most_new_tokens=8)
    assert packed.defaults == Settings(max_new_tokens=8, temperature=0.7)


def test_a_packed_generator_is_watched_like_any_other(model: CausalLM, tmp_path: Path) -> None:
    packed = _packed(model, tmp_path)
    packed.warm_up()
    told: list[Exception] = []
    guard = IsolationGuard(packed, every=1, broken=told.append)
    worker = GuardedText(packed, guard)
    assert isinstance(asked(worker)[-1], Ended)

    packed.module.train()

    with pytest.raises(Exception, match=r"model\.training"):
        asked(worker)


def test_ten_times_the_same_gives_ten_times_the_same(model: CausalLM) -> None:
    answers = [asked(model, temperature=1.0, seed=4) for _ in range(10)]

    assert all(answer == answers[0] for answer in answers)


def test_without_a_seed_chance_is_new_each_time(model: CausalLM) -> None:
    assert len({tuple(ids(asked(model, temperature=2.0))) for _ in range(10)}) > 1


def test_it_ends_with_the_end_token_of_the_model(tmp_path: Path) -> None:
    free = load_causal_lm(language_model(tmp_path / "free"), ARCHITECTURE, Sealed())
    third = ids(asked(free))[2]
    ending = load_causal_lm(
        language_model(tmp_path / "ending", end=free.tokenizer.decode([third])), ARCHITECTURE, Sealed()
    )

    items = asked(ending)

    assert ids(items) == ids(asked(free))[: ids(asked(free)).index(third) + 1]
    assert items[-1] == Ended("stop", 5, len(items) - 1)
    assert free.tokenizer.decode([third]) not in text(items)


def test_a_stop_sequence_over_several_tokens_never_shows(model: CausalLM) -> None:
    whole = text(asked(model, max_new_tokens=10))

    stopped = asked(model, max_new_tokens=10, stop=(whole[3:6],))

    assert text(stopped) == whole[: whole.find(whole[3:6])]
    assert isinstance(stopped[-1], Ended)
    assert stopped[-1].reason == "stop"


def test_a_cancelled_request_ends_within_one_token_and_leaves_nothing(model: CausalLM) -> None:
    worker = guarded(model)
    before = asked(worker)
    wanted = [False]
    request = GenerationRequest(model.encode("hello"), Settings(max_new_tokens=50))
    items = worker.generate(request, lambda: wanted[0])
    first = next(items)

    wanted[0] = True

    assert list(items) == [Ended("cancelled", 5, 1)]
    assert first == before[0]
    assert asked(worker) == before


def test_an_abandoned_answer_leaves_nothing(model: CausalLM) -> None:
    before = asked(model)
    request = GenerationRequest(model.encode("hello"), Settings(max_new_tokens=50))
    abandoned = model.generate(request, lambda: False)
    next(abandoned)

    del abandoned

    assert asked(model) == before


@pytest.mark.parametrize("requests", [180, pytest.param(2000, marks=[LONG, pytest.mark.timeout(300)])], ids=str)
def test_memory_is_flat_over_many_requests(model: CausalLM, requests: int) -> None:
    """Both what Python allocates and what the process holds, in which the tensors are."""

    def ask(numbers: range) -> None:
        for number in numbers:
            prompt, settings = mixed(number)
            asked(model, prompt, **{**settings, "max_new_tokens": 2})
        gc.collect()

    tracemalloc.start()
    try:
        ask(range(60))
        before, held = tracemalloc.get_traced_memory()[0], rss(os.getpid())
        ask(range(60, requests))
        grown, swollen = tracemalloc.get_traced_memory()[0] - before, rss(os.getpid()) - held
    finally:
        tracemalloc.stop()

    assert grown < 100_000  # bytes; 120 caches that were kept would be more than twice as much
    assert swollen < 16_000_000  # bytes; the allocator keeps pages as it likes


def test_a_conversation_goes_through_the_template_of_the_model(model: CausalLM) -> None:
    conversation = [{"role": "user", "content": "he"}, {"role": "user", "content": "llo"}]

    assert model.encode_chat(conversation) == model.encode("hello")


def test_a_model_without_a_template_says_so(model: CausalLM, tmp_path: Path) -> None:
    plain = load_causal_lm(language_model(tmp_path / "plain"), ARCHITECTURE, Sealed())
    plain.tokenizer.tokenizer.chat_template = None

    with pytest.raises(RequestRefused) as refused:
        plain.encode_chat([{"role": "user", "content": "hi"}])

    assert refused.value.faults[0].field == "messages"


def test_a_bundle_seals_its_defaults_and_what_requests_may_ask(tmp_path: Path) -> None:
    sealed = {
        "defaults": {"do_sample": True, "temperature": 0.6, "top_k": 9},
        "max_new_tokens": 5,
        "most_new_tokens": 20,
        "allowed": ["seed"],
    }
    folder = language_model(tmp_path / "sealed", sealed=sealed)

    model = load_causal_lm(folder, ARCHITECTURE, read_sealed(folder, seed=0))

    assert model.defaults == Settings(max_new_tokens=5, temperature=0.6, top_k=9, seed=0)
    assert model.allowed == Allowed(frozenset({"seed"}), most_new_tokens=20)


def test_its_own_code_and_its_defaults_are_part_of_what_is_measured(tmp_path: Path) -> None:
    plain = language_model(tmp_path / "plain")
    sealed = language_model(tmp_path / "sealed", sealed={"defaults": {"repetition_penalty": 1.2}})

    sections = [
        load_causal_lm(folder, ARCHITECTURE, read_sealed(folder)).described({}).measure(())["postprocess"]
        for folder in (plain, sealed)
    ]

    assert sections[0] != sections[1]
    assert "next_token" in str(sections[0])


def test_settings_that_this_worker_does_not_carry_are_refused(tmp_path: Path) -> None:
    folder = language_model(tmp_path / "beams")
    config = folder / "generation_config.json"
    config.write_text(config.read_text(encoding="utf-8").replace("{", '{"num_beams": 3,', 1), encoding="utf-8")

    with pytest.raises(BundleRefused, match="num_beams"):
        load_causal_lm(folder, ARCHITECTURE, Sealed())


def _packed(model: CausalLM, target: Path, **settings: Any) -> PackedGenerator:
    bound = BoundSettings(max_new_tokens=8, stop_ids=(), **settings)
    entry = pack_generator(model.model, bound, version="v1.0.0", target=target)
    model.tokenizer.tokenizer.save_pretrained(target)
    return load_packed_generator(target / entry.name, seed=None)


def test_a_broken_archive_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "generator_v1.0.0.ts").write_bytes(b"nothing")

    with pytest.raises((BundleRefused, Refused), match=r"generator_v1\.0\.0\.ts"):
        load_packed_generator(tmp_path / "generator_v1.0.0.ts", seed=None)
