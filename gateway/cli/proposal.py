"""Show what would be written: each field that differs, and which requests move."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import typer

from contracts.faults import pointer
from gateway.cli.output import lines, print_table
from gateway.edits.check import Found
from gateway.edits.difference import Difference, differences
from gateway.edits.place import Change
from gateway.edits.traffic import Traffic

_LONGEST = 100
_MOST_RANGES = 3
_MOST_RANGE_LINES = 12
_ONLY_FORM = "  only its form changes: spacing, order or comments"


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a command is about to write."""

    place: str
    changes: Sequence[Change]
    warnings: Sequence[Found]
    traffic: Traffic


def print_proposal(proposal: Proposal) -> None:
    """Print changes, warnings, and the requests that move."""
    for change in proposal.changes:
        typer.echo(f"{change.key}: {_action(change)}")
        print_fields(_fields(change))
    for found in proposal.warnings:
        typer.echo(f"warning: {found.key}: {found.fault}")
    typer.echo("")
    _print_traffic(proposal.traffic)


def print_fields(found: Sequence[Difference], *, err: bool = False) -> None:
    """Print the fields of one document that differ."""
    if not found:
        typer.echo(_ONLY_FORM, err=err)
        return
    rows = [(one.path, one.kind, _shown(one.before), _shown(one.after)) for one in _unfolded(found)]
    for line in lines([("  FIELD", "", "NOW", "THEN"), *((f"  {path}", *rest) for path, *rest in rows)]):
        typer.echo(line, err=err)


def _unfolded(found: Iterable[Difference]) -> Iterator[Difference]:
    """Show what comes or goes member by member where it is a document or too long for a line: nothing is cut then."""
    for one in found:
        whole = one.after if one.kind == "added" else one.before
        is_long = not one.path or len(json.dumps(whole, ensure_ascii=False)) > _LONGEST
        if one.kind == "changed" or not (is_long and isinstance(whole, dict | list)):
            yield one
            continue
        for name, value in whole.items() if isinstance(whole, dict) else enumerate(whole):
            before, after = (None, value) if one.kind == "added" else (value, None)
            yield from _unfolded([Difference(one.path + pointer([name]), one.kind, before, after)])


def _print_traffic(traffic: Traffic) -> None:
    for shares in traffic.shares:
        if shares.dealt_anew:
            typer.echo(f"{shares.model_id}: sticky or salt changes, so every user is dealt anew among the versions")
        if shares.before != shares.after:
            typer.echo(f"{shares.model_id}, naming no version: {_spread(shares.before)} -> {_spread(shares.after)}")
    if not traffic.moved and not traffic.ranges:
        typer.echo("no request moves to another version")
        return
    rows = [(one.model_id, one.asked, percent(one.share), one.before, one.after) for one in traffic.moved]
    rows += [
        (one.model_id, f"ranges like {', '.join(one.ranges[:_MOST_RANGES])}", percent(1), one.before, one.after)
        for one in traffic.ranges[:_MOST_RANGE_LINES]
    ]
    print_table(("MODEL", "REQUESTS NAMING", "OF THEM", "NOW", "THEN"), rows)
    left = len(traffic.ranges) - _MOST_RANGE_LINES
    if left > 0:
        typer.echo(f"ranges move in {left} more ways; -o json tells all")


def _spread(shares: Mapping[str, float]) -> str:
    """Write shares, the largest first."""
    by_size = sorted(shares.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{name} {percent(share)}" for name, share in by_size)


def percent(share: float) -> str:
    """Write a share of 0 to 1."""
    return f"{round(share * 100, 6):g} %"


def document_of(proposal: Proposal) -> dict[str, Any]:
    """Give a proposal as programs read it; the names are a promise."""
    return {
        "place": proposal.place,
        "changes": [
            {
                "key": change.key,
                "action": _action(change),
                "index": change.before.stamp if change.before else None,
                "fields": fields_of(_fields(change)),
            }
            for change in proposal.changes
        ],
        "warnings": [
            {"key": found.key, "path": found.fault.path, "message": found.fault.message} for found in proposal.warnings
        ],
        "shares": [
            {
                "model_id": one.model_id,
                "before": dict(one.before),
                "after": dict(one.after),
                "dealt_anew": one.dealt_anew,
            }
            for one in proposal.traffic.shares
        ],
        "moved": [
            {
                "model_id": one.model_id,
                "asked": one.asked,
                "share": one.share,
                "before": one.before,
                "after": one.after,
            }
            for one in proposal.traffic.moved
        ],
        "moved_ranges": [
            {"model_id": one.model_id, "ranges": list(one.ranges), "before": one.before, "after": one.after}
            for one in proposal.traffic.ranges
        ],
    }


def fields_of(found: Iterable[Difference]) -> list[dict[str, Any]]:
    """Give differences as programs read them."""
    return [{"path": one.path, "kind": one.kind, "before": one.before, "after": one.after} for one in found]


def _action(change: Change) -> str:
    if change.text is None:
        return "deleted"
    return "changed" if change.before else "created"


def _fields(change: Change) -> tuple[Difference, ...]:
    return differences(change.before.text if change.before else None, change.text)


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
