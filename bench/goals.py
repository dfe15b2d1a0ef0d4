"""The goals of the data plane, each against the figures of one run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bench.numbers import ratios, spread
from bench.peers.gateway import NAME
from bench.results import DIRECT, Comparison, Figures

THROUGHPUT = {"envoy": 1.2, "vllm-router": 1.5, "nginx": 0.45}
"""Least requests/s of ours, as a multiple of theirs."""
CONNECTIONS = ("32", "128")
P50_OVER_NGINX_MS = 0.08
ADDED_P99_MS = 0.8
SSE_CPU = 1.3
MEMORY = 1.10
"""Memory after the last round, as a multiple of that after the first, that still counts as flat."""


@dataclass(frozen=True, slots=True)
class Goal:
    """One goal; `measured` is `nan` where a figure is missing."""

    what: str
    target: str
    measured: float
    met: bool


def goals(comparison: Comparison) -> list[Goal]:
    """All goals that this run can judge."""
    ours = comparison.of(NAME)
    if ours is None:
        return []
    found = [_throughput(comparison, ours, peer, at) for peer in THROUGHPUT for at in CONNECTIONS]
    return [*found, _p50(comparison, ours), *_added_p99(comparison, ours), _sse(comparison, ours), _memory(ours)]


def throughput_ratios(ours: Figures, theirs: Figures, at: str) -> list[float]:
    """Requests/s of ours divided by theirs, round by round."""
    mine, other = ours.closed.get(at, []), theirs.closed.get(at, [])
    return ratios([repeat.requests_per_s for repeat in mine], [repeat.requests_per_s for repeat in other])


def cpu_ratios(ours: Figures, theirs: Figures, at: str) -> list[float]:
    """Requests per CPU second of ours divided by theirs: what would be left of the ratio on cores of one's own."""
    mine, other = ours.closed.get(at, []), theirs.closed.get(at, [])
    return ratios([repeat.cpu_us for repeat in other], [repeat.cpu_us for repeat in mine])


def _throughput(comparison: Comparison, ours: Figures, peer: str, at: str) -> Goal:
    theirs, least = comparison.of(peer), THROUGHPUT[peer]
    measured = spread(throughput_ratios(ours, theirs, at)).middle if theirs else math.nan
    return Goal(f"requests/s at {at} ÷ {peer}", f"≥ {least}", measured, measured >= least)


def _p50(comparison: Comparison, ours: Figures) -> Goal:
    nginx = comparison.of("nginx")
    measured = _middle_p50(ours) - _middle_p50(nginx) if nginx else math.nan
    return Goal("p50 at 1 connection − nginx's, ms", f"≤ {P50_OVER_NGINX_MS}", measured, measured <= P50_OVER_NGINX_MS)


def _added_p99(comparison: Comparison, ours: Figures) -> list[Goal]:
    """The same goal twice: whole runs show who else took a core, the median tenth of a second what the proxy adds."""
    direct = comparison.of(DIRECT)
    ways = {"in the median tenth of a second": tenth_p99, "over the whole run": whole_p99}
    added = {way: p99(ours) - p99(direct) if direct else math.nan for way, p99 in ways.items()}
    what, target = "added p99 at half of our peak, ms", f"< {ADDED_P99_MS}"
    return [Goal(f"{what}, {way}", target, measured, measured < ADDED_P99_MS) for way, measured in added.items()]


def _sse(comparison: Comparison, ours: Figures) -> Goal:
    nginx = comparison.of("nginx")
    measured = sse_cpu_us(ours) / sse_cpu_us(nginx) if nginx and nginx.streams else math.nan
    return Goal("CPU per SSE event ÷ nginx's", f"≤ {SSE_CPU}", measured, measured <= SSE_CPU)


def _memory(ours: Figures) -> Goal:
    measured = ours.memory.end / ours.memory.warm if ours.memory else math.nan
    return Goal("memory after the last round ÷ after the first", f"≤ {MEMORY}", measured, measured <= MEMORY)


def _middle_p50(figures: Figures) -> float:
    return _middle([repeat.p50_ms for repeat in figures.closed.get("1", [])])


def whole_p99(figures: Figures) -> float:
    """Median of the repeats' p99 in the open loop, ms."""
    return _middle([repeat.p99_ms for repeat in figures.open])


def tenth_p99(figures: Figures) -> float:
    """Median of the repeats' p99 within a tenth of a second in the open loop, ms."""
    return _middle([repeat.tenth_p99_ms for repeat in figures.open if repeat.tenth_p99_ms is not None])


def sse_cpu_us(figures: Figures) -> float:
    """Median CPU microseconds per streamed event."""
    return _middle([repeat.cpu_us for repeat in figures.streams])


def _middle(values: Sequence[float]) -> float:
    return spread(values).middle
