"""A language model worker with a fault in it, as a hurried change would leave it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

from worker.backend import Cancelled, IsolationBroken
from worker.backends.causal_lm import CausalLM
from worker.backends.text_tokenizer import TextTokenizer
from worker.generation import Ended, GenerationRequest, Settings, Token
from worker.isolation.guard import GuardedText, IsolationGuard

Fault = Callable[["Faulty", GenerationRequest], object]


@dataclass(frozen=True, slots=True)
class Faulty(CausalLM):
    """Does something before it answers that concerns everybody."""

    fault: Fault

    def generate(self, request: GenerationRequest, cancelled: Cancelled) -> Iterator[Token | Ended]:
        self.fault(self, request)
        yield from CausalLM.generate(self, request, cancelled)


def with_fault(sound: CausalLM, fault: Fault) -> Faulty:
    """The same worker around copies of its model and tokenizer, with a fault."""
    parts = {field.name: getattr(sound, field.name) for field in fields(sound)}
    own = {
        "model": copy.deepcopy(sound.model),
        "tokenizer": TextTokenizer(copy.deepcopy(sound.tokenizer.tokenizer)),
    }
    return Faulty(**{**parts, **own}, fault=fault)


def guarded(backend: CausalLM, told: list[IsolationBroken] | None = None, *, every: int = 1) -> GuardedText:
    """The worker under guard, as it is served."""
    backend.warm_up()
    violations = [] if told is None else told
    return GuardedText(backend, IsolationGuard(backend, every=every, broken=violations.append))


def asked(backend: Any, prompt: str = "hello", **settings: Any) -> list[Token | Ended]:
    """One whole answer."""
    request = GenerationRequest(backend.encode(prompt), Settings(**{"max_new_tokens": 8, **settings}))
    return list(backend.generate(request, lambda: False))
