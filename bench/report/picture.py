"""The picture of the comparison: bars of requests per second with the range of the repeats, as hand-written SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from bench.numbers import Spread, spread
from bench.peers.gateway import NAME
from bench.results import DIRECT, Comparison, Figures

WIDTH = 760
_LEFT = 160
_RIGHT = 110
_BAR = 20
_ROW = 28
_TOP = 44
_GAP = 34
_OURS = "#1f6f5c"
_THEIRS = "#8a94a0"
_INK = "#24292f"


def picture(comparison: Comparison) -> str:
    """One panel per number of connections."""
    sizes = list(dict.fromkeys(size for figures in comparison.figures for size in figures.closed))
    proxies = [figures for figures in comparison.figures if figures.name != DIRECT]
    parts, y = [], 0
    for size in sizes:
        rows = [figures for figures in proxies if figures.closed.get(size)]
        parts += _panel(rows, size, y)
        y += _TOP + _ROW * len(rows) + _GAP
    return _document("\n".join(parts), y)


def _panel(rows: Sequence[Figures], size: str, top: int) -> list[str]:
    spreads = [spread([repeat.requests_per_s for repeat in figures.closed[size]]) for figures in rows]
    most = max((seen.high for seen in spreads), default=1.0)
    plural = "connection" if size == "1" else "connections"
    parts = [_text(12, top + 26, f"requests/s on one core, {size} {plural}", weight="bold")]
    for index, (figures, seen) in enumerate(zip(rows, spreads, strict=True)):
        parts += _bar(figures.name, seen, most, top + _TOP + _ROW * index)
    return parts


def _bar(name: str, seen: Spread, most: float, top: int) -> list[str]:
    scale = (WIDTH - _LEFT - _RIGHT) / most
    middle, low, high = (_LEFT + value * scale for value in (seen.middle, seen.low, seen.high))
    colour, centre = (_OURS if name == NAME else _THEIRS), top + _BAR / 2
    return [
        _text(_LEFT - 10, top + 15, name, anchor="end", weight="bold" if name == NAME else "normal"),
        f'<rect x="{_LEFT}" y="{top}" width="{middle - _LEFT:.1f}" height="{_BAR}" fill="{colour}"/>',
        f'<path d="M{low:.1f} {centre}H{high:.1f}m0-4v8M{low:.1f} {centre - 4}v8" stroke="{_INK}"/>',
        _text(high + 8, top + 15, f"{seen.middle:,.0f}"),
    ]


def _text(x: float, y: float, words: str, *, anchor: str = "start", weight: str = "normal") -> str:
    return (
        f'<text x="{x:.1f}" y="{y}" text-anchor="{anchor}" font-weight="{weight}" fill="{_INK}">{escape(words)}</text>'
    )


def _document(content: str, height: int) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'font-family="sans-serif" font-size="13">\n<rect width="100%" height="100%" fill="#ffffff"/>\n'
        f"{content}\n</svg>\n"
    )
