"""Which core does what: the proxy has one for itself, the upstream and the load generator share or have the rest."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CoreSplit:
    """Core numbers per part; `shared` says that upstream and load compete for one core."""

    proxy: tuple[int, ...]
    upstream: tuple[int, ...]
    load: tuple[int, ...]

    @property
    def all(self) -> tuple[int, ...]:
        """Every core in use, each once."""
        return tuple(sorted({*self.proxy, *self.upstream, *self.load}))

    @property
    def shared(self) -> bool:
        """Say whether upstream and load compete for a core."""
        return bool(set(self.upstream) & set(self.load))


def split(available: Sequence[int]) -> CoreSplit:
    """Give the proxy the first core, and the others what is left; on one core everything shares it."""
    first, *rest = sorted(available)
    if not rest:
        return CoreSplit((first,), (first,), (first,))
    if len(rest) == 1:
        return CoreSplit((first,), (rest[0],), (rest[0],))
    return CoreSplit((first,), (rest[0],), tuple(rest[1:3]))


def available_cores() -> tuple[int, ...]:
    """The cores this process may run on."""
    return tuple(sorted(os.sched_getaffinity(0)))


@contextmanager
def pinned(cores: Sequence[int]) -> Iterator[None]:
    """Children that start inside inherit these cores; this process itself goes back to its own afterwards."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
