"""Successors that lead back to where they began."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from contracts.contract import Contract
from contracts.faults import Fault
from contracts.key import DocumentKey
from contracts.ties import named
from contracts.version import Precedence


def find_circles(
    contracts: Mapping[DocumentKey, Contract], in_force: Collection[DocumentKey]
) -> dict[DocumentKey, Fault]:
    """Find, for each circle of successors, the contract that closed it: the one that came last.

    Those in force came first, then lower versions before higher ones.
    """

    def rank(key: DocumentKey) -> tuple[bool, Precedence, str]:
        return (key not in in_force, contracts[key].version.precedence, str(key))

    refused = {}
    for circle in _circles(_successors(contracts)):
        last = max(circle, key=rank)
        refused[last] = _refusal(last, circle)
    return refused


def _successors(contracts: Mapping[DocumentKey, Contract]) -> dict[DocumentKey, DocumentKey]:
    keys = {(contract.model_id, contract.version): key for key, contract in contracts.items()}
    successors = {
        key: keys.get((contract.model_id, contract.successor))
        for key, contract in contracts.items()
        if contract.successor is not None
    }
    return {key: successor for key, successor in successors.items() if successor is not None}


def _circles(successors: Mapping[DocumentKey, DocumentKey]) -> Iterator[list[DocumentKey]]:
    """Follow each chain once. A document has one successor at most, so no two circles meet."""
    seen: set[DocumentKey] = set()
    for start in successors:
        chain: dict[DocumentKey, int] = {}
        key: DocumentKey | None = start
        while key is not None and key not in seen:
            seen.add(key)
            chain[key] = len(chain)
            key = successors.get(key)
        if key in chain:
            yield list(chain)[chain[key] :]


def _refusal(last: DocumentKey, circle: Sequence[DocumentKey]) -> Fault:
    words = (
        f"{last} closes a circle of successors with {named(circle, but=last)}; the last of a chain has no successor."
    )
    return Fault("/successor", words)
