"""Objects of compiled libraries, asked by their getters, and objects that have nothing to do with an answer."""

from __future__ import annotations

import array
import io
import itertools
import logging
import queue
import random
import sys
import threading
import types
import weakref
import zlib
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from worker.isolation.compiled import inside_of_compiled
from worker.isolation.text import State, told

_IDLE = (
    types.ModuleType, types.CodeType, types.BuiltinFunctionType, types.GetSetDescriptorType,
    types.MemberDescriptorType, logging.Logger, logging.Handler, io.IOBase, threading.Thread,
    weakref.ReferenceType, type(threading.Lock()), type(threading.RLock()), threading.Condition,
)  # fmt: skip
_OF_A_BACKEND = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
_OF_A_VOCABULARY = (
    "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback",
    "ignore_merges", "max_input_chars_per_word",
)  # fmt: skip
_SAMPLES = 64
"""Tokens of a vocabulary that are read, evenly spaced: writing all of them takes as long as an answer."""


def is_opaque(value: object) -> bool:
    """Say whether an object is looked at by its class alone."""
    return isinstance(value, _IDLE)


def memory_text(value: object) -> str | None:
    """Describe what holds bytes, or numbers what was taken from it; None for anything else."""
    kind = type(value).__name__
    if isinstance(value, bytearray | memoryview | array.array):
        return told(f"{kind} of {len(value)}", zlib.crc32(value))
    if isinstance(value, io.BytesIO | io.StringIO):
        return told(kind, hash(value.getvalue()))
    if isinstance(value, queue.SimpleQueue):
        return f"{kind} of {value.qsize()}"
    if isinstance(value, itertools.count):
        return repr(value)
    return None


def shown_inside(value: object) -> Mapping[str, object] | None:
    """Ask an object of a compiled library for what it is set to; None for an object that shows itself."""
    if isinstance(value, ContextVar):
        return {"value": value.get(None)}
    if isinstance(value, types.GeneratorType):
        return {} if value.gi_frame is None else {f"[{name}]": item for name, item in value.gi_frame.f_locals.items()}
    state = _state_of_chance(value)
    if state is not None:
        return {"state": State(hash(state))}
    tokenizers, torch = sys.modules.get("tokenizers"), sys.modules.get("torch")
    if tokenizers is not None and isinstance(value, tokenizers.Tokenizer):
        return _tokenizer(value)
    if torch is not None and isinstance(value, torch.jit.ScriptModule):
        return inside_of_compiled(value)
    if torch is not None and isinstance(value, torch.dtype | torch.device | torch.layout):
        return {"is": str(value)}
    return None


def _state_of_chance(value: object) -> object | None:
    """The state of a generator of random numbers that somebody keeps; None for anything else."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if isinstance(value, random.Random):
        return None if isinstance(value, random.SystemRandom) else value.getstate()
    if torch is not None and isinstance(value, torch.Generator):
        return bytes(value.get_state().numpy())
    if numpy is not None and isinstance(value, numpy.random.Generator):
        return repr(value.bit_generator.state)
    return None


def _tokenizer(tokenizer: Any) -> dict[str, object]:
    parts = {name: part for name in _OF_A_BACKEND if (part := getattr(tokenizer, name)) is not None}
    return {
        "truncation": tokenizer.truncation,
        "padding": tokenizer.padding,
        "encode_special_tokens": tokenizer.encode_special_tokens,
        "vocabulary_size": (size := tokenizer.get_vocab_size()),
        "vocabulary": [tokenizer.id_to_token(number) for number in range(0, size, max(1, size // _SAMPLES))],
        "model": {name: getattr(tokenizer.model, name) for name in _OF_A_VOCABULARY if hasattr(tokenizer.model, name)},
        "added_tokens": {number: repr(token) for number, token in tokenizer.get_added_tokens_decoder().items()},
        **{name: part.__getstate__() for name, part in parts.items()},
    }
