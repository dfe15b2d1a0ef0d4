"""Sampled stacks: from py-spy's raw text to time per function.

With `--native` a stack holds every frame in C. Three kinds tell something: functions of ours that mypyc compiled (named
anew as the source has them), Python's, and system calls; time in all other C code is its caller's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

_THREAD = "thread ("
_COMPILED = "CPyDef_"
_IN_PYTHON = re.compile(r"\.py(:\d+)?\)$|\(<[a-z ]+>(:\d+)?\)$")
_SYSTEM_CALLS = {f"{name} (libc.so.6)": f"{name} (system call)" for name in ("write", "read", "writev", "epoll_pwait")}
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
            telling = (shown for name in names if (shown := _shown(name)) is not None)
            counts.append((tuple(telling), int(count)))
    return Stacks(tuple(counts))


def _shown(frame: str) -> str | None:
    """Name a frame as people know it; None for one that tells nothing."""
    if frame.startswith(_COMPILED):
        return _source_name(frame.removeprefix(_COMPILED).partition(" ")[0])
    if _IN_PYTHON.search(frame):
        return _without_line(frame)
    return _SYSTEM_CALLS.get(frame)


def _source_name(symbol: str) -> str:
    """Make `exchange___Exchange____try` into `Exchange._try (exchange.py)`."""
    *modules, name = symbol.split("___")
    if modules and modules[-1][:1].isupper():
        name = f"{modules.pop()}.{name}"
    return f"{name} ({modules[-1]}.py)" if modules else name


def _without_line(frame: str) -> str:
    """Make `f (a.py:12)` into `f (a.py)`: the number changes with every edit above it."""
    head, colon, tail = frame.rpartition(":")
    return f"{head})" if colon and tail.removesuffix(")").isdigit() else frame
