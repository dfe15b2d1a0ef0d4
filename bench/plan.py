"""How long a run measures, and what. Every number bounds time or load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

Item = TypeVar("Item")

OPEN_CONNECTIONS = 64
GROWTH_SIZES = (1, 10, 100, 1_000, 10_000)
GROWTH_CONNECTIONS = 32


@dataclass(frozen=True, slots=True)
class Plan:
    """One run.

    Attributes:
        seconds: Length of one measurement.
        rounds: Repeats of each measurement, interleaved between the proxies.
        connections: Sizes of the closed loop.
        streams: Streams open at once.
        stream_rate: Events per second in each stream.
        patience_s: Seconds the whole run may wait for quiet moments.
    """

    seconds: float = 2.0
    rounds: int = 5
    connections: tuple[int, ...] = (1, 32, 128)
    streams: int = 100
    stream_rate: float = 50.0
    patience_s: float = 60.0


def rotated(items: Sequence[Item], turn: int) -> list[Item]:
    """The order of one round: each round begins with another, so that nobody is always first after a pause."""
    if not items:
        return []
    first = turn % len(items)
    return [*items[first:], *items[:first]]


def open_rate(own_peak: float, our_peak: float) -> float:
    """Half of the peak of the slower one: the same rate for everybody who can take it."""
    return min(own_peak, our_peak) / 2
