"""Each public kind of fault by which one request reached another, planted in a worker that is otherwise sound."""

from __future__ import annotations

import copy
import functools
import os
import random
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

import pytest

from tests.support.planted import Fault, Faulty, asked, guarded, with_fault
from worker import decoding
from worker.answer_text import AnswerText
from worker.backend import IsolationBroken
from worker.backends.causal_lm import CausalLM
from worker.generation import Ended, GenerationRequest

pytestmark = pytest.mark.models

Request = GenerationRequest
Keep = Callable[[Any], object]
Place = Callable[[pytest.MonkeyPatch], tuple[Keep, str]]


def _write_generation_config(worker: Faulty, request: Request) -> None:
    worker.model.generation_config.temperature = request.settings.temperature


def _write_around_the_class(worker: Faulty, request: Request) -> None:
    vars(worker.model.generation_config).update(repetition_penalty=request.settings.repetition_penalty + 1)


def _cache_on_the_model(worker: Faulty, request: Request) -> None:
    worker.model.past_key_values = request.token_ids


def _inputs_on_the_model(worker: Faulty, request: Request) -> None:
    worker.model.__dict__["inputs"] = request.token_ids


def _remember(token_ids: tuple[int, ...], history: list[int] = []) -> None:  # noqa: B006 - the fault
    history.extend(token_ids)


def _default_argument(_worker: Faulty, request: Request) -> None:
    _remember(request.token_ids)


def _leave_adapter_on(worker: Faulty, _request: Request) -> None:
    worker.model.model.layers[0].mlp.adapter_is_on = True


def _merge_adapter(worker: Faulty, _request: Request) -> None:
    worker.model.model.layers[0].mlp.up_proj.weight.data.mul_(1.01)


def _leave_hook(worker: Faulty, _request: Request) -> None:
    worker.model.model.layers[1].register_forward_hook(lambda _module, _inputs, output: output)


def _padding_side(worker: Faulty, _request: Request) -> None:
    worker.tokenizer.tokenizer.padding_side = "left"


def _truncation(worker: Faulty, _request: Request) -> None:
    worker.tokenizer.tokenizer("hello", truncation=True, max_length=3)


def _padding_of_the_library(worker: Faulty, _request: Request) -> None:
    worker.tokenizer.tokenizer.backend_tokenizer.enable_padding(pad_id=0, pad_token="a", length=64)


def _add_tokens(worker: Faulty, _request: Request) -> None:
    worker.tokenizer.tokenizer.add_tokens(["hello"])


def _chat_template(worker: Faulty, _request: Request) -> None:
    worker.tokenizer.tokenizer.chat_template = "{{ messages }}"


def _seed_torch(_worker: Faulty, request: Request) -> None:
    import torch

    torch.manual_seed(request.settings.seed or 1)


def _draw_from_torch(_worker: Faulty, _request: Request) -> None:
    import torch

    torch.rand(1)


def _seed_python(_worker: Faulty, _request: Request) -> None:
    random.seed(1)


def _seed_numpy(_worker: Faulty, _request: Request) -> None:
    import numpy as np

    np.random.seed(1)


def _train(worker: Faulty, _request: Request) -> None:
    worker.model.train()


def _dropout(worker: Faulty, _request: Request) -> None:
    worker.model.model.layers[0].self_attn.attention_dropout = 0.5


def _write_config(worker: Faulty, _request: Request) -> None:
    worker.model.config.use_cache = False


def _write_deep_config(worker: Faulty, _request: Request) -> None:
    worker.model.config.rope_parameters["rope_theta"] = 7.0


def _write_weight(worker: Faulty, _request: Request) -> None:
    import torch

    with torch.no_grad():
        worker.model.lm_head.weight[0, 0] += 1


def _default_dtype(_worker: Faulty, _request: Request) -> None:
    import torch

    torch.set_default_dtype(torch.float64)


def _threads(_worker: Faulty, _request: Request) -> None:
    import torch

    torch.set_num_threads(torch.get_num_threads() + 1)


def _algorithms(_worker: Faulty, _request: Request) -> None:
    import torch

    torch.use_deterministic_algorithms(not torch.are_deterministic_algorithms_enabled())


def _gradients(_worker: Faulty, _request: Request) -> None:
    import torch

    torch.set_grad_enabled(False)


def _environment(_worker: Faulty, _request: Request) -> None:
    os.environ["TEMPERATURE"] = "0.95"


@pytest.mark.parametrize(
    ("fault", "field"),
    [
        pytest.param(_write_generation_config, "model.generation_config.temperature", id="generation-config"),
        pytest.param(
            _write_around_the_class, "model.generation_config.repetition_penalty", id="generation-config-vars"
        ),
        pytest.param(_cache_on_the_model, "model.past_key_values", id="cache-on-the-model"),
        pytest.param(_inputs_on_the_model, "model.inputs", id="inputs-on-the-model"),
        pytest.param(_default_argument, "backend.fault(remember around it)(history=)", id="default-argument-history"),
        pytest.param(_leave_adapter_on, "model.model.layers.0.mlp.adapter_is_on", id="adapter-left-on"),
        pytest.param(_merge_adapter, "model.model.layers.0.mlp.up_proj.weight", id="adapter-merged"),
        pytest.param(_leave_hook, "model.model.layers.1._forward_hooks", id="hook-left"),
        pytest.param(_padding_side, "tokenizer.padding_side", id="padding-side"),
        pytest.param(_truncation, "tokenizer._tokenizer.truncation", id="truncation"),
        pytest.param(_padding_of_the_library, "tokenizer._tokenizer.padding", id="padding-of-the-library"),
        pytest.param(_add_tokens, "tokenizer", id="added-tokens"),
        pytest.param(_chat_template, "tokenizer.chat_template", id="chat-template"),
        pytest.param(_seed_torch, "torch's generator", id="torch-seeded"),
        pytest.param(_draw_from_torch, "torch's generator", id="torch-drawn"),
        pytest.param(_seed_python, "random's generator", id="python-seeded"),
        pytest.param(_seed_numpy, "numpy's generator", id="numpy-seeded"),
        pytest.param(_train, "model.training", id="training-mode"),
        pytest.param(_dropout, "model.model.layers.0.self_attn.attention_dropout", id="dropout"),
        pytest.param(_write_config, "model.config.use_cache", id="configuration"),
        pytest.param(_write_deep_config, "model.config.rope_parameters['rope_theta']", id="configuration-inside"),
        pytest.param(_write_weight, "model.lm_head.weight", id="one-weight"),
        pytest.param(_default_dtype, "torch['default_dtype']", id="default-dtype"),
        pytest.param(_threads, "torch.get_num_threads()", id="threads"),
        pytest.param(_algorithms, "torch deterministic", id="algorithms"),
        pytest.param(_gradients, "torch.is_grad_enabled()", id="gradients"),
        pytest.param(_environment, "os.environ", id="environment"),
    ],
)
def test_a_fault_fails_the_request_and_is_named(sound: CausalLM, put_back: None, fault: Fault, field: str) -> None:
    told: list[IsolationBroken] = []
    worker = guarded(with_fault(sound, _calling(fault)), told)
    given: list[Any] = []

    with pytest.raises(IsolationBroken) as broken:
        given.extend(asked(worker, temperature=0.5, seed=3))

    assert broken.value.field.startswith(field)
    assert told[0].field == broken.value.field
    assert not [item for item in given if isinstance(item, Ended)]


def _calling(fault: Fault) -> Fault:
    """A function that closes over the fault, as code does that calls a helper."""
    if fault is not _default_argument:
        return fault
    remember = _remember
    return lambda _worker, request: remember(request.token_ids)


def _module_list(monkeypatch: pytest.MonkeyPatch) -> tuple[Keep, str]:
    history: list[object] = []
    monkeypatch.setattr(decoding, "HISTORY", history, raising=False)
    return history.append, "worker.decoding.HISTORY"


def _class_attribute(monkeypatch: pytest.MonkeyPatch) -> tuple[Keep, str]:
    monkeypatch.setattr(AnswerText, "last", None, raising=False)
    return lambda ids: setattr(AnswerText, "last", ids), "worker.answer_text.AnswerText.last"


def _cached_function(monkeypatch: pytest.MonkeyPatch) -> tuple[Keep, str]:
    def remembered(ids: object) -> object:
        return ids

    remembered.__module__ = decoding.__name__  # caches of libraries fill by the way and are not looked at
    cached = functools.cache(remembered)
    monkeypatch.setattr(decoding, "cached", cached, raising=False)
    return cached, "worker.decoding.cached"


def _of_the_thread(monkeypatch: pytest.MonkeyPatch) -> tuple[Keep, str]:
    local = threading.local()
    monkeypatch.setattr(decoding, "LOCAL", local, raising=False)
    return lambda ids: setattr(local, "ids", ids), "worker.decoding.LOCAL.ids"


def _of_the_context(monkeypatch: pytest.MonkeyPatch) -> tuple[Keep, str]:
    variable: ContextVar[object] = ContextVar("ids", default=None)
    monkeypatch.setattr(decoding, "VARIABLE", variable, raising=False)
    return variable.set, "worker.decoding.VARIABLE.value"


def _keyword_default(monkeypatch: pytest.MonkeyPatch) -> tuple[Keep, str]:
    def remember(ids: object, *, seen: dict[object, bool] = {}) -> None:  # noqa: B006 - the fault
        seen[ids] = True

    monkeypatch.setattr(decoding, "remember", remember, raising=False)
    return remember, "worker.decoding.remember(seen=)"


@pytest.mark.parametrize(
    "place",
    [
        pytest.param(_module_list, id="module-list"),
        pytest.param(_class_attribute, id="class-attribute"),
        pytest.param(_cached_function, id="cached-function"),
        pytest.param(_of_the_thread, id="thread-local"),
        pytest.param(_of_the_context, id="context-variable"),
        pytest.param(_keyword_default, id="keyword-default"),
    ],
)
def test_what_the_code_of_a_worker_keeps_is_found_in_every_place(
    sound: CausalLM, monkeypatch: pytest.MonkeyPatch, place: Place
) -> None:
    keep, field = place(monkeypatch)
    worker = guarded(with_fault(sound, lambda _worker, request: keep(request.token_ids)))

    with pytest.raises(IsolationBroken) as broken:
        asked(worker)

    assert broken.value.field == field


def test_a_write_that_code_in_between_keeps_quiet_about_fails_the_request_all_the_same(sound: CausalLM) -> None:
    def fault(worker: Faulty, _request: Request) -> None:
        with suppress(Exception):
            worker.model.generation_config.top_k = 7

    with pytest.raises(IsolationBroken, match=r"model\.generation_config\.top_k was to be set"):
        asked(guarded(with_fault(sound, fault)))


def test_after_a_violation_nothing_is_answered_any_more(sound: CausalLM, put_back: None) -> None:
    worker = guarded(with_fault(sound, lambda _worker, request: request.settings.seed and random.seed(5)))
    with pytest.raises(IsolationBroken):
        asked(worker, seed=1)

    with pytest.raises(IsolationBroken, match="random's generator"):
        asked(worker)


def test_a_sampled_guard_looks_at_the_first_answer_and_then_at_every_nth(sound: CausalLM, put_back: None) -> None:
    def fault(_worker: Faulty, request: Request) -> None:
        if request.settings.seed == 2:
            random.seed(5)

    worker = guarded(with_fault(sound, fault), every=3)
    for seed in (1, 2, 3):
        asked(worker, seed=seed)

    with pytest.raises(IsolationBroken, match="random's generator"):
        asked(worker, seed=4)


def test_a_sound_worker_is_never_accused(sound: CausalLM) -> None:
    told: list[IsolationBroken] = []
    worker = guarded(with_fault(sound, lambda _worker, _request: None), told)

    for number in range(6):
        settings: dict[str, Any] = {"temperature": number % 3 / 2, "seed": number, "stop": ("z",) * (number % 2)}
        assert isinstance(asked(worker, **settings)[-1], Ended)

    assert told == []


def test_a_copy_of_a_frozen_configuration_may_be_changed(sound: CausalLM) -> None:
    frozen = with_fault(sound, lambda _worker, _request: None)
    guarded(frozen)

    for copied in (copy.copy(frozen.model.generation_config), copy.deepcopy(frozen.model.generation_config)):
        copied.temperature = 0.3
        assert copied.temperature == 0.3
    assert frozen.model.generation_config.temperature != 0.3
