"""In which order documents are written, and what fits into one transaction. Pure.

No gateway may see a route that leads to a version it does not know: a contract comes before the route that names it,
and leaves after it (consul.md section 9).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from contracts.contract import parse_contract
from contracts.faults import DocumentRefused
from contracts.terms import Status
from gateway.edits.place import Change

Item = TypeVar("Item")

MOST_OPERATIONS = 64
"""In one transaction of Consul 1.8."""

MOST_BYTES = 480 * 1024
"""Of one transaction: Consul takes 512 KiB, values in base64, and some room for keys and brackets."""

_COMES, _ROUTE, _LEAVES = range(3)


def ordered(changes: Iterable[Change]) -> tuple[Change, ...]:
    """Contracts that come or stay in service, then routes, then contracts that leave; each group by key."""
    return tuple(sorted(changes, key=lambda change: (_rank(change), change.key)))


def _rank(change: Change) -> int:
    if change.document.kind == "route":
        return _ROUTE
    return _LEAVES if change.text is None or not _is_active(change.text) else _COMES


def _is_active(text: bytes) -> bool:
    try:
        return parse_contract(text).status is Status.ACTIVE
    except DocumentRefused:
        return True


def batches(items: Sequence[Item], operations: Callable[[Item], int], size: Callable[[Item], int]) -> list[list[Item]]:
    """Pack items, in their order, into as few transactions as hold them.

    Args:
        items: What is written.
        operations: How many operations an item needs; they stay together.
        size: How many bytes an item needs.
    """
    packed: list[list[Item]] = []
    operations_left = bytes_left = 0
    for item in items:
        needed, length = operations(item), size(item)
        if not packed or needed > operations_left or length > bytes_left:
            packed.append([])
            operations_left, bytes_left = MOST_OPERATIONS, MOST_BYTES
        packed[-1].append(item)
        operations_left -= needed
        bytes_left -= length
    return packed
