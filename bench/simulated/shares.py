"""Which gateways probe which instance, kept up as members come and go, by the gateway's own weights.

What every gateway works out for itself (`Division.is_mine`) is worked out here once for all of them; the tests hold
both against each other.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

from gateway.sharing.rendezvous import point, weight


class Shares:
    """The instances of each member, by number: `of[member]`.

    Args:
        members: Names, by number.
        instances: Names, by number.
        count: How many probe each instance.
    """

    def __init__(self, members: Sequence[str], instances: Sequence[str], *, count: int) -> None:
        self.of: list[set[int]] = [set() for _ in members]
        self._points = [point(name) for name in members]
        self._instances = [point(name) for name in instances]
        self._count = count
        self.members = set(range(len(members)))
        self._heaviest: list[list[tuple[int, int]]] = [[] for _ in instances]
        for instance in range(len(instances)):
            self._choose(instance)

    def leave(self, members: Iterable[int]) -> None:
        """Let members go; only their own instances are chosen for anew."""
        gone = set(members)
        self.members -= gone
        orphans = set().union(*(self.of[member] for member in gone))
        for instance in orphans:
            self._choose(instance)

    def join(self, members: Iterable[int]) -> None:
        """Let members come; each takes what becomes its own."""
        for member in members:
            self.members.add(member)
            mine = self._points[member]
            for instance, at in enumerate(self._instances):
                weighed = weight(mine, at)
                heaviest = self._heaviest[instance]
                if len(heaviest) < self._count or weighed > heaviest[-1][0]:
                    self._give(instance, sorted([*heaviest, (weighed, member)], reverse=True)[: self._count])

    def add(self, instance: str) -> int:
        """Take in an instance; gives its number."""
        self._instances.append(point(instance))
        self._heaviest.append([])
        self._choose(len(self._instances) - 1)
        return len(self._instances) - 1

    def probers(self, instance: int) -> list[int]:
        """List who probes an instance."""
        return [member for _, member in self._heaviest[instance]]

    def _choose(self, instance: int) -> None:
        at, points = self._instances[instance], self._points
        weighed = ((weight(points[member], at), member) for member in self.members)
        self._give(instance, heapq.nlargest(self._count, weighed))

    def _give(self, instance: int, heaviest: list[tuple[int, int]]) -> None:
        for _, member in self._heaviest[instance]:
            self.of[member].discard(instance)
        for _, member in heaviest:
            self.of[member].add(instance)
        self._heaviest[instance] = heaviest
