"""The packed generator as a worker meets it: its steps, its draws, its bad words."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from inference_dna.binding.draws import draws
from inference_dna.binding.pack import pack_generator
from inference_dna.binding.settings import BoundSettings
from inference_dna.measure.code.check import code_reads
from tests.support.tiny_causal import causal

pytestmark = [pytest.mark.models, pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")]

Packed = Callable[..., Any]


@pytest.fixture(scope="module")
def tiny() -> Any:
    return causal()[0]


@pytest.fixture
def packed(tiny: Any, tmp_path: Path) -> Packed:
    """Packs the tiny model with settings and loads the file."""
    import torch

    def pack(**settings: Any) -> Any:
        bound = BoundSettings(**{"max_new_tokens": 6, "stop_ids": (), **settings})
        entry = pack_generator(tiny, bound, version="v1.0.0", target=tmp_path)
        assert code_reads(tmp_path / entry.name) == ()
        load: Any = torch.jit.load
        return load(str(tmp_path / entry.name))

    return pack


def ids(*tokens: int) -> Any:
    import torch

    return torch.tensor([tokens])


def whole(module: Any, *tokens: int, seed: int = 1) -> list[int]:
    import torch

    drawn = [draw for draw, _ in zip(draws(seed), range(module.max_new_tokens), strict=False)]
    return [int(token) for token in module(ids(*tokens), torch.tensor(drawn))[0]]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"repetition_penalty": 1.7},
        {"do_sample": True, "temperature": 3.0},
        {"do_sample": True, "top_k": 4, "bad_words": ((3,),)},
    ],
)
def test_steps_give_what_the_whole_gives(settings: dict[str, Any], packed: Packed) -> None:
    module = packed(**settings)
    known, seeds = [1, 2, 3], draws(5)

    for _ in range(module.max_new_tokens):
        known.append(int(module.step(ids(*known), next(seeds)).item()))

    assert known[3:] == whole(module, 1, 2, 3, seed=5)
    assert module.do_sample is settings.get("do_sample", False)


def test_both_steps_are_there_whatever_was_packed(packed: Packed) -> None:
    module = packed(stop_ids=(9, 4), temperature=3.0)
    asked = ids(1, 2, 3)

    drawn = {int(module.sampled(asked, draw).item()) for draw, _ in zip(draws(1), range(60), strict=False)}

    assert int(module.step(asked, 0.5).item()) == int(module.greedy(asked).item())
    assert len(drawn) > 3
    assert module.greedy(asked).shape == module.sampled(asked, 0.5).shape == (1, 1)
    assert (list(module.stop_ids), module.max_new_tokens) == ([9, 4], 6)


def test_a_bad_word_of_several_tokens_never_comes_out_and_its_parts_do(packed: Packed) -> None:
    plain = whole(packed(), 1, 2, 3)
    pair = (plain[1], plain[2])

    banned = whole(packed(bad_words=(pair,)), 1, 2, 3)
    begun = whole(packed(bad_words=((2, 3, plain[0]),)), 1, 2, 3)

    assert banned[:2] == plain[:2]
    assert banned[2] != plain[2]
    assert begun[0] != plain[0]


@pytest.mark.parametrize("word", [None, [[5]], [[2, 3, 6], [7, 8]]])
def test_it_is_what_the_library_gives(word: Any, tiny: Any, packed: Packed) -> None:
    settings = {"repetition_penalty": 1.4, "max_new_tokens": 6}
    asked = tiny.generate(ids(1, 2, 3), **settings, bad_words_ids=word, do_sample=False)[0, 3:].tolist()

    packing = {**settings, "bad_words": tuple(map(tuple, word or ()))}
    assert whole(packed(**packing), 1, 2, 3) == asked


def test_a_draw_above_the_sum_falls_on_a_token_that_is_possible(packed: Packed) -> None:
    module = packed(do_sample=True, top_k=2, temperature=0.7)
    possible = {int(module.sampled(ids(1, 2), draw / 50).item()) for draw in range(50)}

    assert int(module.sampled(ids(1, 2), 1 - 2**-53).item()) in possible
    assert len(possible) == 2


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda module: module.greedy(ids()), r"at least one token"),
        (lambda module: module.greedy(ids(1)[0]), r"one sequence"),
        (lambda module: module.greedy(ids(1).repeat(2, 1)), r"one sequence"),
        (lambda module: module.sampled(ids(1), 1.0), r"at least 0 and below 1"),
        (lambda module: module.sampled(ids(1), float("nan")), r"at least 0 and below 1"),
    ],
)
def test_other_shapes_and_draws_are_refused(call: Callable[[Any], Any], says: str, packed: Packed) -> None:
    import torch

    with pytest.raises(torch.jit.Error, match=says):
        call(packed())


def test_no_generator_of_random_numbers_is_touched(packed: Packed) -> None:
    import torch

    module = packed(do_sample=True)
    before = torch.get_rng_state()

    assert whole(module, 1, 2) == whole(module, 1, 2)
    assert torch.equal(torch.get_rng_state(), before)


def test_threads_do_not_meet(packed: Packed) -> None:
    module = packed(do_sample=True, temperature=2.0, repetition_penalty=1.3)
    alone = [whole(module, 1, seed % 7, seed=seed) for seed in range(32)]

    with ThreadPoolExecutor(32) as pool:
        assert list(pool.map(lambda seed: whole(module, 1, seed % 7, seed=seed), range(32))) == alone


def test_draws_are_known_numbers() -> None:
    first = [draw for draw, _ in zip(draws(42), range(1000), strict=False)]

    assert first[:2] == [0.516913652420044, 0.30423808097839355]
    assert all(0 <= draw < 1 for draw in first)
    assert len(set(first)) > 990
    assert 0.45 < sum(first) / 1000 < 0.55
