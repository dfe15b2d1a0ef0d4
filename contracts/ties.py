"""Builds of one version that a range could not tell apart (routing.md section 2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from contracts.contract import Contract
from contracts.faults import Fault
from contracts.key import DocumentKey
from contracts.terms import Status
from contracts.version import Precedence

MOST_NAMED = 10
"""Keys named in one message; there may be thousands."""


def find_ties(
    contracts: Mapping[DocumentKey, Contract], in_force: Collection[DocumentKey]
) -> tuple[dict[DocumentKey, Fault], dict[DocumentKey, Fault]]:
    """Find contracts of equal precedence.

    Returns:
        Those that came second, to be refused; and those of which none came first, to be left out of ranges.
    """
    refused: dict[DocumentKey, Fault] = {}
    tied: dict[DocumentKey, Fault] = {}
    for keys in _builds(contracts):
        first = [key for key in keys if key in in_force]
        for key in keys:
            if first and key not in in_force:
                refused[key] = _refusal(key, first)
            elif len(first) != 1:
                tied[key] = _tie(key, first or keys)
    return refused, tied


def named(keys: Sequence[DocumentKey], but: DocumentKey | None = None) -> str:
    """Write keys for a message, cut where there are many, leaving out one of them."""
    others = [key for key in keys[: MOST_NAMED + 1] if key != but][:MOST_NAMED]
    more = len(keys) - (but is not None) - len(others)
    return ", ".join(map(str, others)) + (f" and {more} more" if more else "")


def _builds(contracts: Mapping[DocumentKey, Contract]) -> list[list[DocumentKey]]:
    builds: dict[tuple[str, Precedence], list[DocumentKey]] = defaultdict(list)
    for key, contract in contracts.items():
        # No range takes a retired version, so it stands in nobody's way: that is how one build replaces another.
        if contract.status is not Status.RETIRED:
            builds[contract.model_id, contract.version.precedence].append(key)
    return [sorted(keys, key=str) for keys in builds.values() if len(keys) > 1]


def _refusal(key: DocumentKey, first: Sequence[DocumentKey]) -> Fault:
    return Fault(
        "/version",
        f"{key} ties with {named(first)}, which came first: builds of one version have no order, so no range could "
        "choose. Retire the other one first, or raise this version's number.",
    )


def _tie(key: DocumentKey, keys: Sequence[DocumentKey]) -> Fault:
    return Fault(
        "/version",
        f"{key} ties with {named(keys, but=key)}: builds of one version have no order and none came first, so ranges "
        "take neither; exact requests still work. Retire one, or raise its version's number.",
        "warning",
    )
