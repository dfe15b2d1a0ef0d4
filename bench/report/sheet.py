"""A table as plain text cells, and the tables of each part of the results. Screen and page print the same cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bench.goals import cpu_ratios, goals, throughput_ratios
from bench.growth.fleet import Fleet
from bench.load.window import DISTURBED
from bench.numbers import Spread, ratios, spread
from bench.peers.gateway import NAME
from bench.results import (
    DIRECT,
    ClosedRepeat,
    Comparison,
    Figures,
    Growth,
    GrowthRow,
    HashingComparison,
    HashingRepeat,
    HashingRow,
    Hot,
    Profile,
)

NOTHING = "–"


@dataclass(frozen=True, slots=True)
class Sheet:
    """One table: a title, column heads, rows of cells; the first column is text, the others are figures."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def comparison_sheets(comparison: Comparison) -> list[Sheet]:
    """Throughput per number of connections, latency at a fixed rate, streams, memory, goals."""
    sizes = list(dict.fromkeys(size for figures in comparison.figures for size in figures.closed))
    closed = [_closed_sheet(comparison, size) for size in sizes]
    return [*closed, _open_sheet(comparison), _stream_sheet(comparison), _memory_sheet(comparison), _goals(comparison)]


def growth_sheet(growth: Growth) -> Sheet:
    """One row per size."""
    heads = (
        "fleet", "requests/s", "CPU µs a request", "÷ the first, per CPU second", "p99 ms, closed / open loop",
        "dialled, closed / open", "RSS MiB", "ready after s", "probed every s", "foreign CPU", "failed",
    )  # fmt: skip
    title = f"Growth, {growth.connections} connections"
    return Sheet(title, heads, tuple(_growth_row(row) for row in growth.rows))


def profile_sheets(profile: Profile) -> list[Sheet]:
    """Own time, then time with everything below."""
    heads = ("function", "share", "µs a request")
    return [
        Sheet("Own time of the serving thread", heads, tuple(map(_hot_row, profile.own))),
        Sheet("With everything below", heads, tuple(map(_hot_row, profile.cumulative))),
        Sheet(
            f"Calls a request: {profile.python_calls:.0f} of Python functions, {profile.c_calls:.0f} of C functions",
            ("function", "calls", "own µs, profiled", "µs with everything below, profiled"),
            tuple(
                (called.function, f"{called.calls:.2f}", f"{called.own_us:.1f}", f"{called.below_us:.1f}")
                for called in profile.called
            ),
        ),
    ]


def hashing_sheets(hashing: HashingComparison) -> list[Sheet]:
    """One table per shape of folder, ours first."""
    shapes = list(dict.fromkeys(row.shape for row in hashing.rows))
    heads = ("tool", "GB/s", "ours ÷ it", "CPU s a GB", "foreign CPU")
    return [
        Sheet(f"{hashing.gigabytes:g} GB, {shape}", heads, tuple(_hashing_rows(hashing, shape))) for shape in shapes
    ]


def _hashing_rows(hashing: HashingComparison, shape: str) -> list[tuple[str, ...]]:
    rows = [row for row in hashing.rows if row.shape == shape]
    ours = next((row for row in rows if row.name == NAME), None)
    return [_hashing_row(row, ours) for row in rows]


def _hashing_row(row: HashingRow, ours: HashingRow | None) -> tuple[str, ...]:
    speeds = [repeat.gb_per_s for repeat in row.repeats]
    compared = [] if ours is None or row is ours else ratios([repeat.gb_per_s for repeat in ours.repeats], speeds)
    return (
        f"{row.name} {row.version}".strip(),
        _range(speeds, "{:.2f}"),
        _range(compared, "{:.2f}"),
        _middle([repeat.cpu_s_per_gb for repeat in row.repeats], "{:.2f}"),
        _foreign(row.repeats),
    )


def _closed_sheet(comparison: Comparison, size: str) -> Sheet:
    heads = (
        "proxy", "requests/s", "ours ÷ it", "CPU µs a request", "ours ÷ it, per CPU second", "p50 ms", "p99 ms",
        "core used", "foreign CPU", "failed",
    )  # fmt: skip
    ours = comparison.of(NAME)
    rows = [_closed_row(figures, ours, size) for figures in comparison.figures if figures.closed.get(size)]
    plural = "connection" if size == "1" else "connections"
    return Sheet(f"Closed loop, {size} {plural}", heads, tuple(rows))


def _closed_row(figures: Figures, ours: Figures | None, size: str) -> tuple[str, ...]:
    repeats = figures.closed[size]
    is_proxy = figures.name != DIRECT
    compared = ours is not None and is_proxy and figures.name != NAME
    return (
        _named(figures),
        _range([repeat.requests_per_s for repeat in repeats], "{:,.0f}"),
        _range(throughput_ratios(ours, figures, size), "{:.2f}") if compared and ours else NOTHING,
        _middle([repeat.cpu_us for repeat in repeats], "{:.1f}") if is_proxy else NOTHING,
        _middle(cpu_ratios(ours, figures, size), "{:.2f}") if compared and ours else NOTHING,
        _middle([repeat.p50_ms for repeat in repeats], "{:.3f}"),
        _middle([repeat.p99_ms for repeat in repeats], "{:.2f}"),
        _middle([repeat.busy for repeat in repeats], "{:.0%}") if is_proxy else NOTHING,
        _foreign(repeats),
        str(sum(repeat.failures for repeat in repeats)),
    )


def _open_sheet(comparison: Comparison) -> Sheet:
    heads = (
        "proxy", "asked for/s", "answered/s", "p50 ms", "p99 ms, median tenth of a second", "p99 ms, whole run",
        "p99.9 ms, whole run", "client late, p99 ms", "failed",
    )  # fmt: skip
    rows = [
        (
            _named(figures),
            _middle([repeat.rate for repeat in figures.open], "{:,.0f}"),
            _middle([repeat.requests_per_s for repeat in figures.open], "{:,.0f}"),
            _middle([repeat.p50_ms for repeat in figures.open], "{:.3f}"),
            _range([repeat.tenth_p99_ms for repeat in figures.open if repeat.tenth_p99_ms is not None], "{:.2f}"),
            _range([repeat.p99_ms for repeat in figures.open], "{:.2f}"),
            _middle([repeat.p999_ms for repeat in figures.open], "{:.2f}"),
            _middle([repeat.late_ms for repeat in figures.open], "{:.2f}"),
            str(sum(repeat.failures for repeat in figures.open)),
        )
        for figures in comparison.figures
        if figures.open
    ]
    return Sheet("Open loop at half of the peak", heads, tuple(rows))


def _stream_sheet(comparison: Comparison) -> Sheet:
    heads = ("proxy", "streams", "events/s", "CPU µs an event", "events per client read", "foreign CPU", "lost")
    rows = [
        (
            _named(figures),
            str(figures.streams[0].streams),
            _middle([repeat.events_per_s for repeat in figures.streams], "{:,.0f}"),
            _range([repeat.cpu_us for repeat in figures.streams], "{:.1f}"),
            _middle([repeat.events / max(repeat.reads, 1) for repeat in figures.streams], "{:.2f}"),
            _middle([repeat.foreign for repeat in figures.streams], "{:.0%}"),
            str(sum(repeat.lost for repeat in figures.streams)),
        )
        for figures in comparison.figures
        if figures.streams
    ]
    return Sheet("Streams of events", heads, tuple(rows))


def _memory_sheet(comparison: Comparison) -> Sheet:
    rows = [
        (_named(figures), f"{memory.started:.1f}", f"{memory.warm:.1f}", f"{memory.end:.1f}")
        for figures in comparison.figures
        if (memory := figures.memory) is not None
    ]
    return Sheet("Resident memory, MiB", ("proxy", "started", "after the first round", "at the end"), tuple(rows))


def _goals(comparison: Comparison) -> Sheet:
    rows = [
        (goal.what, goal.target, _figure(goal.measured, "{:.2f}"), "met" if goal.met else "not met")
        for goal in goals(comparison)
    ]
    return Sheet("Goals", ("goal", "target", "measured", ""), tuple(rows))


def _growth_row(row: GrowthRow) -> tuple[str, ...]:
    return (
        Fleet(row.axis, row.size).name,
        _range([repeat.requests_per_s for repeat in row.repeats], "{:,.0f}"),
        _range([repeat.cpu_us for repeat in row.repeats], "{:.1f}"),
        _range(growth_ratios(row), "{:.2f}"),
        _pair([repeat.p99_ms for repeat in row.repeats], [repeat.p99_ms for repeat in row.open], "{:.2f}"),
        _pair(row.closed_dials, row.open_dials, "{:.1%}"),
        f"{row.rss_mib:.0f}" if row.repeats else NOTHING,
        f"{row.ready_s:.1f}" if row.ready_s is not None else "not in time",
        f"{row.probe_interval_s:,g}" if row.probe_interval_s else NOTHING,
        _foreign(row.repeats),
        str(_failures(row)) if row.repeats else NOTHING,
    )


def _failures(row: GrowthRow) -> int:
    return sum(repeat.failures for repeat in row.repeats) + sum(repeat.failures for repeat in row.open)


def growth_ratios(row: GrowthRow) -> list[float]:
    """Requests per CPU second of a fleet divided by those of the first one, which was measured right after each."""
    if not row.beside:
        return []
    return ratios([repeat.cpu_us for repeat in row.beside], [repeat.cpu_us for repeat in row.repeats])


def _hot_row(hot: Hot) -> tuple[str, ...]:
    return hot.function, f"{hot.share:.1%}", f"{hot.us:.1f}"


def _named(figures: Figures) -> str:
    return f"{figures.name} {figures.version}".strip()


def _foreign(repeats: Sequence[ClosedRepeat | HashingRepeat]) -> str:
    """The middle foreign share; a star where it is so much that the row says little."""
    middle = spread([repeat.foreign for repeat in repeats]).middle
    return _figure(middle, "{:.0%}") + ("*" if middle > DISTURBED else "")  # no comparison with nan holds


def _middle(values: Sequence[float], form: str) -> str:
    return _figure(spread(values).middle, form)


def _pair(closed: Sequence[float], opened: Sequence[float], form: str) -> str:
    """The middle of both loops; one dash where nothing was measured."""
    return f"{_middle(closed, form)} / {_middle(opened, form)}" if closed or opened else NOTHING


def _range(values: Sequence[float], form: str) -> str:
    seen: Spread = spread(values)
    if len(values) < 2:
        return _figure(seen.middle, form)
    return f"{form.format(seen.middle)} ({form.format(seen.low)}–{form.format(seen.high)})"


def _figure(value: float, form: str) -> str:
    return NOTHING if math.isnan(value) else form.format(value)
