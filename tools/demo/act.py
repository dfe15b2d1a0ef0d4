"""The form of an act: a title, what is asked, and claims that hold or do not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from tools.demo.scene import Scene


@dataclass(frozen=True, slots=True)
class Claim:
    """Something seen, with its numbers, and whether it is what the act set out to show."""

    seen: str
    holds: bool


@dataclass(frozen=True, slots=True)
class Act:
    """One act. `asked` is told before it is played."""

    title: str
    asked: str
    play: Callable[[Scene], Awaitable[Sequence[Claim]]]
