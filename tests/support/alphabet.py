"""A language model that can be followed by eye: it continues the alphabet. All of the worker around it is real."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from inference_dna.guard import Worker
from worker.backend import Cancelled, Message
from worker.fault import FieldFault, RequestRefused
from worker.generation import Allowed, Ended, GenerationRequest, Settings, Token

LAST = ord("z")


@dataclass
class Alphabet:
    """Token ids are code points. After `z` it has said all; at a temperature it draws letters by its seed, without end.

    `before_token` is called before each token of an answer with the number of the token, in the thread that computes:
    it may wait there, or fail as a library would.
    """

    before_token: Callable[[int], object] = lambda _number: None
    has_chat: bool = True
    defaults: Settings = field(default_factory=lambda: Settings(max_new_tokens=4))
    allowed: Allowed = field(default_factory=Allowed)
    context: int = 64
    ended: list[Ended] = field(default_factory=list)
    computed: list[int] = field(default_factory=list)

    def encode(self, text: str) -> tuple[int, ...]:
        return tuple(map(ord, text))

    def encode_chat(self, messages: Sequence[Message]) -> tuple[int, ...]:
        if not self.has_chat:
            raise RequestRefused([FieldFault("messages", "this model has no chat template")])
        return self.encode("".join(f"{message['role']}:{message['content']}\n" for message in messages) + "a")

    def generate(self, request: GenerationRequest, cancelled: Cancelled) -> Iterator[Token | Ended]:
        for item in self._letters(request, cancelled):
            if isinstance(item, Ended):
                self.ended.append(item)
            yield item

    def _letters(self, request: GenerationRequest, cancelled: Cancelled) -> Iterator[Token | Ended]:
        letter, settings, prompt = request.token_ids[-1], request.settings, len(request.token_ids)
        draws = random.Random(settings.seed)
        for number in range(settings.max_new_tokens):
            if cancelled():
                yield Ended("cancelled", prompt, number)
                return
            if letter == LAST:
                yield Ended("stop", prompt, number)
                return
            self.before_token(number)
            self.computed.append(number)
            letter = draws.randint(ord("a"), LAST - 1) if settings.do_sample else letter + 1
            yield Token(letter, chr(letter))
        yield Ended("length", prompt, settings.max_new_tokens)

    def warm_up(self) -> None:
        raise AssertionError("nobody asks for this: its standing is made by hand")

    def described(self, environ: Mapping[str, str]) -> Worker:
        raise AssertionError("nobody asks for this: its standing is made by hand")

    def reachable(self) -> Mapping[str, object]:
        return {}

    def frozen(self) -> Mapping[str, object]:
        return {}


class Gate:
    """Lets tokens through one at a time; `arrived` counts those that came to it."""

    def __init__(self) -> None:
        self._open = threading.Semaphore(0)
        self.arrived = 0

    def __call__(self, _number: int) -> None:
        self.arrived += 1
        assert self._open.acquire(timeout=20), "the test left the gate shut"

    def let(self, tokens: int) -> None:
        self._open.release(tokens)
