"""Sampled stacks: from py-spy's raw text to time per function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

_THREAD = "thread ("
MAIN = "MainThread"


@dataclass(frozen=True, slots=True)
class Stacks:
    """Samples by stack; a stack is functions from the outermost to the one that ran."""

    counts: tuple[tuple[tuple[str, ...], int], ...]

    @property
    def total(self) -> int:
        """How many samples there are."""
        return sum(count for _, count in self.counts)

    def own(self) -> Sequence[tuple[str, int]]:
        """Samples in which the function itself ran, greatest first; time in C code is its Python caller's."""
        own: Counter[str] = Counter()
        for stack, count in self.counts:
            own[stack[-1]] += count
        return own.most_common()

    def cumulative(self) -> Sequence[tuple[str, int]]:
        """Samples in which the function or something below it ran; recursion counts once."""
        below: Counter[str] = Counter()
        for stack, count in self.counts:
            for name in set(stack):
                below[name] += count
        return below.most_common()


def parse_stacks(text: str, *, thread: str = MAIN) -> Stacks:
    """Read lines of `thread;outer;...;innermost COUNT` of one thread.

    Others are left out: on a busy machine the profiler takes a thread that waits for one that runs.
    """
    counts = []
    for line in text.splitlines():
        frames, _, count = line.rpartition(" ")
        first, *names = frames.split(";")
        if names and first.startswith(_THREAD) and first.endswith(f": {thread}"):
            counts.append((tuple(map(_without_line, names)), int(count)))
    return Stacks(tuple(counts))


def _without_line(frame: str) -> str:
    """Make `f (a.py:12)` into `f (a.py)`: the number changes with every edit above it."""
    head, colon, tail = frame.rpartition(":")
    return f"{head})" if colon and tail.removesuffix(")").isdigit() else frame
