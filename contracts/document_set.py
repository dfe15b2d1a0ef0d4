"""Faults that only the documents together show.

A document that was in force before, unchanged, is never refused because of a newcomer (design rule 5).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from contracts.advice import contract_advice, route_advice
from contracts.circles import find_circles
from contracts.contract import Contract
from contracts.faults import Fault
from contracts.key import DocumentKey
from contracts.route import Route
from contracts.ties import find_ties

Faults: TypeAlias = Mapping[DocumentKey, tuple[Fault, ...]]


@dataclass(frozen=True, slots=True)
class SetFindings:
    """What is wrong with a set of documents. No key of `refused` stands in the other two."""

    refused: Faults = field(default_factory=dict)
    tied: frozenset[DocumentKey] = frozenset()
    """Builds of equal precedence of which none came first: exact requests get them, ranges take none of them."""
    warnings: Faults = field(default_factory=dict)


def check_set(
    contracts: Mapping[DocumentKey, Contract],
    routes: Mapping[DocumentKey, Route],
    *,
    in_force: Collection[DocumentKey],
) -> SetFindings:
    """Check documents against one another.

    Args:
        contracts: Every contract that could be read by itself.
        routes: Every route that could be read by itself.
        in_force: Keys whose documents were in force before and are unchanged: they came first.

    Returns:
        Faults by key. A document that is refused here takes no part in what is found about the others.
    """
    before = frozenset(in_force)
    refused, tied = find_ties(contracts, before)
    refused |= find_circles(_without(contracts, refused), before)
    remaining = _without(contracts, refused)
    kept = {key: fault for key, fault in tied.items() if key in remaining}
    warnings: dict[DocumentKey, list[Fault]] = defaultdict(list)
    for key, fault in (*kept.items(), *contract_advice(remaining), *route_advice(routes, remaining)):
        warnings[key].append(fault)
    return SetFindings(
        {key: (fault,) for key, fault in refused.items()},
        frozenset(kept),
        {key: tuple(faults) for key, faults in warnings.items()},
    )


def _without(
    contracts: Mapping[DocumentKey, Contract], refused: Collection[DocumentKey]
) -> dict[DocumentKey, Contract]:
    return {key: contract for key, contract in contracts.items() if key not in refused}
