"""Faults in places that are easily forgotten: libraries, switches of the process, containers, inside the tokenizer."""

from __future__ import annotations

import array
import collections
import copy
import decimal
import functools
import gc
import io
import itertools
import json
import locale
import logging
import os
import random
import sys
import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from queue import SimpleQueue
from typing import Any

import pytest

from tests.support.planted import Faulty, asked, guarded, with_fault
from worker import decoding
from worker.answer_text import AnswerText
from worker.backend import IsolationBroken
from worker.backends import next_token
from worker.backends.causal_lm import CausalLM
from worker.generation import Ended, GenerationRequest

pytestmark = pytest.mark.models

Change = Callable[[Any, Any], object]
"""Is given the worker, and what puts back what is changed outside of it."""


def _vars(worker: Faulty, part: str = "") -> dict[str, Any]:
    members: dict[str, Any] = vars(worker.model.get_submodule(part))
    return members


def _backend(worker: Faulty) -> Any:
    return worker.tokenizer.tokenizer.backend_tokenizer


def _replace_vocabulary(worker: Faulty, _patch: object) -> None:
    from tokenizers import models

    last = _backend(worker).get_vocab_size() - 1
    turned = {token: last - number for token, number in _backend(worker).get_vocab().items()}
    _backend(worker).model = models.WordLevel(turned, "a")


def _normalize(worker: Faulty, _patch: object) -> None:
    from tokenizers import normalizers

    _backend(worker).normalizer = normalizers.Lowercase()


def _adapter(worker: Faulty, _patch: object) -> None:
    """A low-rank adapter put around a layer, as adapter libraries do, and left there."""
    import torch

    class Adapted(torch.nn.Module):
        def __init__(self, base: torch.nn.Module) -> None:
            super().__init__()
            self.base, self.down, self.up = base, torch.nn.Linear(16, 2), torch.nn.Linear(2, 16)

        def forward(self, hidden: torch.Tensor) -> Any:
            return self.base(hidden) + self.up(self.down(hidden))

    attention = worker.model.model.layers[0].self_attn
    attention._modules["q_proj"] = Adapted(attention._modules["q_proj"])


def _reweigh(worker: Faulty, _patch: object) -> None:
    worker.model.generation_config.watermarking_config.bias = 9.0


def _exchange_code(_worker: object, patch: pytest.MonkeyPatch) -> None:
    def first(torch: Any, scores: Any, known: Any, settings: Any, draw: float) -> int:
        return 3

    patch.setattr(next_token.next_token, "__code__", first.__code__)


def _exchange_rotation(_worker: object, patch: pytest.MonkeyPatch) -> None:
    from transformers.models.llama import modeling_llama

    patch.setattr(modeling_llama, "apply_rotary_pos_emb", lambda queries, keys, *_args, **_kwargs: (queries, keys))


def _exchange_forward(_worker: object, patch: pytest.MonkeyPatch) -> None:
    from transformers.models.llama.modeling_llama import LlamaMLP

    patch.setattr(LlamaMLP, "forward", lambda _self, hidden: hidden)


def _exchange_activation(_worker: object, patch: pytest.MonkeyPatch) -> None:
    import torch

    patch.setattr(torch.nn.functional, "silu", lambda scores, inplace=False: scores)


def _exchange_method_of_tensors(_worker: object, patch: pytest.MonkeyPatch) -> None:
    import torch

    patch.setattr(torch.Tensor, "argmax", lambda scores, **_kwargs: scores.max(dim=-1).indices)


def _exchange_cache(_worker: object, patch: pytest.MonkeyPatch) -> None:
    from transformers import DynamicCache

    patch.setattr(DynamicCache, "update", lambda _self, keys, values, *_args, **_kwargs: (keys, values))


def _exchange_attention(_worker: object, patch: pytest.MonkeyPatch) -> None:
    """The answer fails by it too: broken isolation is what is told, and not what came of it."""
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    patch.setitem(ALL_ATTENTION_FUNCTIONS, "sdpa", lambda *_args, **_kwargs: None)


def _class_of_the_model(worker: Faulty, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(type(worker.model).__mro__[1], "memory", [1], raising=False)


def _in_a_class_of_the_model(worker: Faulty, patch: pytest.MonkeyPatch) -> None:
    patch.setitem(vars(type(worker.model).__mro__[1])["_tied_weights_keys"], "memory", "kept")


def _level(_worker: object, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(logging.getLogger("transformers"), "level", 5)


def _torch(call: Callable[[Any], object]) -> Change:
    def change(_worker: object, _patch: object) -> None:
        import torch

        call(torch)

    return change


@pytest.fixture
def switches() -> Iterator[None]:
    """Whatever a fault switched in the process is switched back."""
    import torch

    precision, places, interval = decimal.getcontext().prec, locale.setlocale(locale.LC_ALL), sys.getswitchinterval()
    digits, folder, root = sys.get_int_max_str_digits(), os.getcwd(), logging.getLogger().level
    yield
    decimal.getcontext().prec = precision
    locale.setlocale(locale.LC_ALL, places)
    sys.setswitchinterval(interval)
    sys.set_int_max_str_digits(digits)
    os.chdir(folder)
    logging.getLogger().setLevel(root)
    logging.disable(logging.NOTSET)
    gc.enable()
    torch.set_flush_denormal(False)
    torch.set_default_device(None)
    torch.set_float32_matmul_precision("highest")
    torch.set_autocast_enabled("cpu", False)
    torch.backends.mkldnn.enabled = True  # type: ignore[assignment]  # as its own documentation sets it
    torch.nn.modules.module._global_forward_hooks.clear()
    torch.set_printoptions(profile="default")  # type: ignore[no-untyped-call]


@pytest.mark.usefixtures("switches", "put_back")
@pytest.mark.parametrize(
    ("change", "field"),
    [
        # The model
        pytest.param(
            lambda worker, _: worker.model.generation_config.stop_strings.append("x"),
            "model.generation_config.stop_strings",
            id="stop-strings-grown",
        ),
        pytest.param(_reweigh, "model.generation_config.watermarking_config.bias", id="watermark"),
        pytest.param(
            lambda worker, _: _vars(worker).update(generation_config=copy.copy(worker.model.generation_config)),
            "model.generation_config",
            id="generation-config-replaced",
        ),
        pytest.param(
            lambda worker, _: object.__setattr__(worker.model.generation_config, "top_p", 0.1),
            "model.generation_config.top_p",
            id="generation-config-around-its-class",
        ),
        pytest.param(lambda worker, _: vars(worker.model.config).update(hidden_act="relu"), "model.config.hidden_act",
                     id="configuration-vars"),
        pytest.param(
            lambda worker, _: _vars(worker, "model.layers.0.self_attn").update(past_key_values=[1]),
            "model.model.layers.0.self_attn.past_key_values",
            id="cache-on-a-submodule",
        ),
        pytest.param(
            lambda worker, _: worker.model.model.register_forward_pre_hook(lambda *_args: None),
            "model.model._forward_pre_hooks",
            id="pre-hook",
        ),
        pytest.param(_torch(lambda torch: torch.nn.modules.module.register_module_forward_hook(lambda *_args: None)),
                     "torch's hooks of all modules", id="hook-of-all-modules"),
        pytest.param(lambda worker, _: worker.model.model.rotary_emb.inv_freq.mul_(1.1),
                     "model.model.rotary_emb.inv_freq", id="buffer-in-place"),
        pytest.param(lambda worker, _: worker.model.lm_head.weight.requires_grad_(False), "model.lm_head.weight",
                     id="requires-grad"),
        pytest.param(lambda worker, _: worker.model.lm_head.weight.sum().backward(), "model.lm_head.weight",
                     id="gradient-left"),
        pytest.param(lambda worker, _: _vars(worker, "model.layers.1.mlp").update(training=True),
                     "model.model.layers.1.mlp.training", id="training-of-one-part"),
        pytest.param(lambda worker, _: worker.model.model.norm.half(), "model.model.norm.weight", id="half"),
        pytest.param(_adapter, "model.model.layers.0.self_attn.q_proj", id="adapter-around-a-layer"),
        pytest.param(lambda worker, _: _vars(worker, "model.layers.0.mlp").update(forward=lambda hidden: hidden),
                     "model.model.layers.0.mlp.forward", id="forward-of-one-part"),
        # The tokenizer
        pytest.param(lambda worker, _: worker.tokenizer.tokenizer.add_special_tokens({"eos_token": "b"}),
                     "tokenizer.", id="special-token"),
        pytest.param(lambda worker, _: vars(worker.tokenizer.tokenizer).update(model_max_length=3),
                     "tokenizer.model_max_length", id="longest"),
        pytest.param(lambda worker, _: vars(worker.tokenizer.tokenizer).update(truncation_side="left"),
                     "tokenizer.truncation_side", id="truncation-side"),
        pytest.param(lambda worker, _: _backend(worker).enable_truncation(4), "tokenizer._tokenizer.truncation",
                     id="truncation-of-the-library"),
        pytest.param(_normalize, "tokenizer._tokenizer.normalizer", id="normalizer"),
        pytest.param(lambda worker, _: setattr(_backend(worker).model, "unk_token", "b"), "tokenizer._tokenizer.model",
                     id="unknown-token"),
        pytest.param(_replace_vocabulary, "tokenizer._tokenizer.vocabulary", id="vocabulary"),
        # Libraries
        pytest.param(_exchange_rotation, "transformers.models.llama.modeling_llama.apply_rotary_pos_emb",
                     id="function-of-the-model"),
        pytest.param(_exchange_forward, "transformers.models.llama.modeling_llama.LlamaMLP.forward",
                     id="method-of-the-model"),
        pytest.param(_exchange_activation, "torch.nn.functional.silu", id="function-of-torch"),
        pytest.param(_exchange_method_of_tensors, "torch.Tensor.argmax", id="method-of-tensors"),
        pytest.param(_exchange_cache, "transformers.cache_utils.DynamicCache.update", id="method-of-the-cache"),
        pytest.param(_exchange_attention, "transformers.", id="attention-function"),
        pytest.param(_class_of_the_model, "transformers.models.llama.modeling_llama.", id="class-of-the-model"),
        pytest.param(_in_a_class_of_the_model, "transformers.models.llama.modeling_llama.LlamaForCausalLM._tied",
                     id="in-a-class-of-the-model"),
        pytest.param(lambda _, patch: patch.setattr(json, "dumps", str), "json.dumps", id="function-of-python"),
        # Our own code
        pytest.param(_exchange_code, "worker.backends.next_token.next_token", id="code-exchanged"),
        pytest.param(lambda _, patch: patch.setattr(AnswerText.__init__, "__defaults__", ((),)),
                     "worker.answer_text.AnswerText.__init__", id="defaults-exchanged"),
        pytest.param(lambda worker, _: object.__setattr__(worker, "end_ids", frozenset({1})), "backend.end_ids",
                     id="frozen-value"),
        # The process
        pytest.param(_torch(lambda torch: torch.set_flush_denormal(True)), "torch.set_flush_denormal", id="denormals"),
        pytest.param(_torch(lambda torch: torch.set_default_device("meta")), "torch.get_default_device", id="device"),
        pytest.param(_torch(lambda torch: torch.set_autocast_enabled("cpu", True)), "torch['autocast']", id="autocast"),
        pytest.param(_torch(lambda torch: torch.set_float32_matmul_precision("medium")), "torch", id="precision"),
        pytest.param(_torch(lambda torch: setattr(torch.backends.mkldnn, "enabled", False)), "torch", id="onednn"),
        pytest.param(_torch(lambda torch: torch.set_printoptions(precision=2)), "torch", id="print-options"),
        pytest.param(lambda _, __: setattr(decimal.getcontext(), "prec", 5), "decimal.getcontext()", id="decimal"),
        pytest.param(lambda _, __: locale.setlocale(locale.LC_NUMERIC, "C.UTF-8"), "locale", id="locale"),
        pytest.param(lambda _, __: warnings.filterwarnings("ignore", message="x"), "warnings.filters", id="warnings"),
        pytest.param(lambda _, patch: patch.syspath_prepend("nowhere"), "sys.path", id="import-path"),
        pytest.param(_level, "logging['transformers']", id="log-level-of-a-library"),
        pytest.param(lambda _, __: logging.disable(50), "logging", id="logging-off"),
        pytest.param(lambda _, __: os.chdir("/"), "the working folder", id="folder"),
        pytest.param(lambda _, __: gc.disable(), "gc.isenabled()", id="garbage"),
        pytest.param(lambda _, __: sys.setswitchinterval(0.5), "sys.getswitchinterval()", id="switch-interval"),
        pytest.param(lambda _, __: sys.set_int_max_str_digits(9999), "sys.get_int_max_str_digits()", id="digits"),
    ],
)  # fmt: skip
def test_a_further_fault_fails_the_request_and_is_named(
    marked: CausalLM, monkeypatch: pytest.MonkeyPatch, change: Change, field: str
) -> None:
    told: list[IsolationBroken] = []
    patch = weakref.ref(monkeypatch)  # its notes would be found in the closure of the fault
    worker = guarded(with_fault(marked, lambda worker, _request: change(worker, patch())), told)
    given: list[Any] = []

    with pytest.raises(IsolationBroken) as broken:
        given.extend(asked(worker, temperature=0.5, seed=3))

    assert broken.value.field.startswith(field)
    assert told[0].field == broken.value.field
    assert not [item for item in given if isinstance(item, Ended)]


@pytest.fixture(scope="module")
def marked(sound: CausalLM) -> CausalLM:
    """A model whose generation configuration has values inside values."""
    from transformers import WatermarkingConfig

    model = copy.deepcopy(sound.model)
    model.generation_config.stop_strings = ["zz"]
    model.generation_config.watermarking_config = WatermarkingConfig()
    return replace(sound, model=model)


def _generator() -> Any:
    def keep() -> Iterator[None]:
        history: list[object] = []
        while True:
            history.append((yield))

    generator: Any = keep()
    next(generator)
    return generator


def _torch_generator() -> Any:
    import torch

    return torch.Generator()


def _numpy_generator() -> Any:
    import numpy as np

    return np.random.default_rng(1)


def _draw(generator: Any) -> None:
    import torch

    torch.rand(1, generator=generator)


class _Key:
    """Something that may be a key of weak references."""


@pytest.mark.parametrize(
    ("kept", "write"),
    [
        pytest.param(functools.partial(list.append, []), lambda kept: kept(1), id="partial"),
        pytest.param(weakref.WeakKeyDictionary({_Key: 0}), lambda kept: kept.update({_Key: 1}), id="weak-keys"),
        pytest.param(weakref.WeakValueDictionary[str, Any](), lambda kept: kept.update(x=_Key), id="weak-values"),
        pytest.param(collections.ChainMap[str, int]({}), lambda kept: kept.update(x=1), id="chain-map"),
        pytest.param(collections.UserDict[str, int](), lambda kept: kept.update(x=1), id="user-dict"),
        pytest.param(collections.deque[int](), lambda kept: kept.append(1), id="deque"),
        pytest.param(SimpleQueue[int](), lambda kept: kept.put(1), id="queue"),
        pytest.param(bytearray(b"x"), lambda kept: kept.extend(b"y"), id="bytearray"),
        pytest.param(memoryview(bytearray(4)), lambda kept: kept.__setitem__(0, 9), id="memoryview"),
        pytest.param(array.array("i"), lambda kept: kept.append(1), id="array"),
        pytest.param(io.BytesIO(), lambda kept: kept.write(b"x"), id="bytes-io"),
        pytest.param(io.StringIO(), lambda kept: kept.write("x"), id="string-io"),
        pytest.param(types.SimpleNamespace(), lambda kept: setattr(kept, "ids", 1), id="namespace"),
        pytest.param(itertools.count(), next, id="count"),
        pytest.param(random.Random(1), lambda kept: kept.random(), id="generator-of-python"),
        pytest.param(_torch_generator, _draw, id="generator-of-torch"),
        pytest.param(_numpy_generator, lambda kept: kept.random(), id="generator-of-numpy"),
        pytest.param(_generator, lambda kept: kept.send(1), id="generator-function"),
    ],
)
def test_whatever_a_module_keeps_things_in_is_looked_into(
    sound: CausalLM, monkeypatch: pytest.MonkeyPatch, kept: Any, write: Callable[[Any], object]
) -> None:
    held = kept() if isinstance(kept, types.FunctionType) else kept
    monkeypatch.setattr(decoding, "KEPT", held, raising=False)
    worker = guarded(with_fault(sound, lambda _worker, _request: write(held)))

    with pytest.raises(IsolationBroken) as broken:
        asked(worker)

    assert broken.value.field.startswith(("worker.decoding.KEPT", "backend.fault(held around it)"))


def test_one_value_of_a_large_weight_that_was_written_around_the_counter_is_found(sound: CausalLM) -> None:
    import torch

    worker = with_fault(sound, _one_value)
    large = torch.nn.Parameter(torch.zeros(700, 701), requires_grad=False)
    worker.model.model.norm.register_parameter("large", large)

    with pytest.raises(IsolationBroken, match=r"model\.model\.norm\.large was written to"):
        asked(guarded(worker))


def _one_value(worker: Faulty, _request: GenerationRequest) -> None:
    worker.model.model.norm.large.data[333, 77] = 1.0
