"""Compares what requests can reach with what it was when the worker became ready, before and after each answer.

The comparison is with one state for the life of the process, not with the moment before the request: thirty-two
requests at once see the same, and a write that one of them makes fails all that overlap with it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import TypeVar

from worker.backend import Backend, Cancelled, ClassifierBackend, Inference, IsolationBroken, Message, TextBackend
from worker.generation import Allowed, Ended, GenerationRequest, Settings, Token
from worker.isolation.arrays import sums
from worker.isolation.frozen import freeze
from worker.isolation.libraries import Libraries
from worker.isolation.process import process_facts
from worker.isolation.text import change
from worker.isolation.walk import Description, describe, module_globals

Item = TypeVar("Item")
Broken = Callable[[IsolationBroken], None]
_OWN = frozenset({__name__.partition(".")[0], "inference_dna"})
"""Packages whose modules are looked into: ours, under whatever name they were copied."""


class IsolationGuard:
    """Holds what was sealed, and looks whether it is still so. Threads may share it.

    Args:
        backend: What is watched.
        every: Look at every Nth answer; 1 looks at all.
        broken: Is told each violation, in the thread that found it.
    """

    def __init__(self, backend: Backend, *, every: int, broken: Broken) -> None:
        self._backend, self._every, self._broken = backend, every, broken
        self._numbers = count()
        self._violation: IsolationBroken | None = None
        self._modules = {name: module for name, module in list(sys.modules.items()) if _is_own(name)}
        freeze(backend.frozen(), self._refused)
        objects = [*backend.reachable().values(), *backend.frozen().values()]
        self._libraries = Libraries(objects, self._modules.values(), own=_is_own)
        self._sealed, self._sums = self._now(), sums(backend.reachable())

    def is_due(self) -> bool:
        """Say whether this answer is one of those that are looked at."""
        return next(self._numbers) % self._every == 0

    def check(self) -> None:
        """Look now at everything but single values of large tensors.

        Raises:
            IsolationBroken: Something changed since it was sealed, now or earlier.
        """
        self.check_writes()
        changed = difference(self._sealed, self._now(), first=self._backend.reachable()) or self._libraries.change()
        if changed is not None:
            raise self._refused(*changed)

    def check_whole(self) -> None:
        """Look now at everything.

        Raises:
            IsolationBroken: As `check`.
        """
        self.check()
        now = sums(self._backend.reachable())
        changed = next((path for path, added in self._sums.items() if now.get(path) != added), None)
        if changed is not None:
            raise self._refused(changed, "was written to: its values add up to something else")

    def check_writes(self) -> None:
        """Look whether a write was refused, which code in between may have kept to itself.

        Raises:
            IsolationBroken: One was, or a difference was found earlier.
        """
        if self._violation is not None:
            raise IsolationBroken(self._violation.field, self._violation.change)

    def watching(self, items: Iterable[Item]) -> Iterator[Item]:
        """Give what a backend gives. Where it fails, broken isolation is named rather than what came of it.

        Raises:
            IsolationBroken: A write was refused meanwhile, or the backend failed and something had changed.
        """
        try:
            for item in items:
                self.check_writes()
                yield item
        except Exception:
            self.check()
            raise

    def _refused(self, field: str, how: str) -> IsolationBroken:
        violation = IsolationBroken(field, how)
        self._violation = self._violation or violation
        self._broken(violation)
        return violation

    def _now(self) -> Description:
        roots = {**self._backend.reachable(), **process_facts(), **module_globals(self._modules)}
        return describe(roots, own=_is_own)


class GuardedText:
    """A text backend under guard. Each answer that is looked at is looked at before its first token and at its end."""

    def __init__(self, backend: TextBackend, guard: IsolationGuard) -> None:
        self._backend, self._guard = backend, guard

    @property
    def defaults(self) -> Settings:
        """What a request without settings gets."""
        return self._backend.defaults

    @property
    def allowed(self) -> Allowed:
        """What a request may ask for."""
        return self._backend.allowed

    @property
    def context(self) -> int:
        """Tokens that prompt and answer may have together."""
        return self._backend.context

    def encode(self, text: str) -> tuple[int, ...]:
        """Give the ids of a text."""
        return self._backend.encode(text)

    def encode_chat(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Give the ids of a conversation."""
        return self._backend.encode_chat(messages)

    def generate(self, request: GenerationRequest, cancelled: Cancelled) -> Iterator[Token | Ended]:
        """Generate one answer; its end is given only where nothing was reached meanwhile."""
        is_due = self._guard.is_due()
        if is_due:
            self._guard.check()
        for item in self._guard.watching(self._backend.generate(request, cancelled)):
            if is_due and isinstance(item, Ended):
                self._guard.check_whole()
            yield item


class GuardedClassifier:
    """A classifier under guard."""

    def __init__(self, backend: ClassifierBackend, guard: IsolationGuard) -> None:
        self._backend, self._guard = backend, guard

    @property
    def names(self) -> Mapping[str, Mapping[str, str]]:
        """What the labels are called."""
        return self._backend.names

    def classify(self, texts: Sequence[str]) -> list[Inference]:
        """Answer each text; nothing is given where shared state was reached."""
        is_due = self._guard.is_due()
        if is_due:
            self._guard.check()
        (inferences,) = self._guard.watching(self._backend.classify(each) for each in [texts])
        if is_due:
            self._guard.check_whole()
        return inferences


def difference(sealed: Description, now: Description, *, first: Container[str] = ()) -> tuple[str, str] | None:
    """Find the place that tells most of what differs, and say how; None where nothing does.

    Args:
        sealed: What was described first.
        now: The same places later.
        first: What these roots hold is named before anything else: chance is drawn by the way of other faults.
    """
    changed = [path for path in sealed.keys() | now.keys() if sealed.get(path) != now.get(path)]
    if not changed:
        return None
    path = min(changed, key=lambda path: (_root(path) not in first, *_telling(path, sealed.get(path)), path))
    if path not in sealed:
        return path, "appeared"
    if path not in now:
        return path, "is gone"
    return path, change(sealed[path], now[path])


def _telling(path: str, was: str | None) -> tuple[bool, bool, int, int]:
    """Smaller for what tells more: a value that was there rather than what is new, and rather than a whole printout."""
    return was is None, was is not None and was.startswith("str of "), path.count("."), len(path)


def _root(path: str) -> str:
    return path.partition(".")[0]


def _is_own(module: str) -> bool:
    return module.partition(".")[0] in _OWN
