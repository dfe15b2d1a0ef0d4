"""Keeps the tables of docs/performance.md: each stands between two markers and is written anew from the results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from bench.machine import Machine
from bench.report.fleet_sheet import fleet_sheets
from bench.report.sheet import Sheet, comparison_sheets, growth_sheet, hashing_sheets, profile_sheets
from bench.results import Results


class PageError(ValueError):
    """The page lacks a marker; the message names it."""


def refresh(page: Path, results: Results) -> None:
    """Write the parts that were measured into the page.

    Raises:
        PageError: The page has no place for one of them.
    """
    text = page.read_text(encoding="utf-8")
    for name, block in blocks(results).items():
        text = replaced(text, name, block)
    page.write_text(text, encoding="utf-8")


def blocks(results: Results) -> dict[str, str]:
    """The Markdown of each part that was measured, by the name of its marker."""
    found = {}
    if (comparison := results.comparison) is not None:
        skipped = [f"* {name} was skipped: {reason.splitlines()[0]}" for name, reason in comparison.skipped.items()]
        records = comparison.records_per_request
        head = [
            _where(comparison.taken_at, comparison.machine),
            f"Closed loop by {comparison.closed_by} onto {comparison.answered_by}; "
            f"{comparison.rounds} rounds of {comparison.seconds:g} s each.",
            f"Access records of ours per request: {records:.3f}." if records is not None else "",
        ]
        found["comparison"] = _block(head, skipped, comparison_sheets(comparison))
    if (growth := results.growth) is not None:
        head = [
            _where(growth.taken_at, growth.machine),
            f"Closed loop by {growth.closed_by}.",
            f"{growth.rounds} rounds of {growth.seconds:g} s each." if growth.rounds else "",
        ]
        found["growth"] = _block(head, [], [growth_sheet(growth)])
    if (profile := results.profile) is not None:
        head = [
            _where(profile.taken_at, profile.machine),
            f"{profile.connections} connections, without the profiler {profile.requests_per_s:,.0f} requests/s and "
            f"{profile.cpu_us:.1f} µs of CPU a request: {profile.user_us:.1f} user, {profile.system_us:.1f} system; "
            f"{profile.main_us:.1f} of them in the serving thread.",
            f"{profile.samples:,} samples by {profile.profiler}.",
        ]
        found["profile"] = _block(head, [], profile_sheets(profile))
    if (hashing := results.hashing) is not None:
        skipped = [f"* {name} was skipped: {reason}" for name, reason in hashing.skipped.items()]
        head = [_where(hashing.taken_at, hashing.machine), f"{hashing.rounds} rounds."]
        found["hashing"] = _block(head, skipped, hashing_sheets(hashing))
    if (fleet := results.fleet) is not None:
        found["fleet"] = _block([f"Simulated with seed {fleet.seed}."], [], fleet_sheets(fleet))
    return found


def replaced(text: str, name: str, block: str) -> str:
    """Put a block between the markers of its name.

    Raises:
        PageError: The markers are not there.
    """
    pattern = re.compile(rf"(<!-- bench:{re.escape(name)} -->\n).*?(<!-- /bench -->)", re.DOTALL)
    if not pattern.search(text):
        raise PageError(f"the page has no marker <!-- bench:{name} -->")
    return pattern.sub(lambda found: found[1] + block + found[2], text, count=1)


def markdown(sheet: Sheet) -> str:
    """One table with its title."""
    rule = ["---", *["---:"] * (len(sheet.heads) - 1)]
    lines = [sheet.heads, rule, *sheet.rows]
    return f"**{sheet.title}**\n\n" + "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def _block(head: Sequence[str], points: Sequence[str], sheets: Sequence[Sheet]) -> str:
    parts = [" ".join(filter(None, head))]
    if points:
        parts.append("\n".join(points))
    return "\n" + "\n\n".join(parts) + "\n\n" + "\n".join(map(markdown, sheets)) + "\n"


def _where(taken_at: str, machine: Machine) -> str:
    return (
        f"Taken {taken_at} on {machine.cores} cores of {machine.processor}, {machine.memory_gib:g} GiB, Linux "
        f"{machine.kernel}, Python {machine.python}; load average before it {machine.load:g}; {machine.split}."
    )
