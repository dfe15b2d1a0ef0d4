"""How the probing of all instances is divided among the members: each instance falls to a few of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gateway.sharing.rendezvous import is_chosen, point

PROBERS = 3
"""How many gateways probe each instance."""


class Division:
    """One membership as one gateway sees it.

    Args:
        me: This gateway's name among the members.
        members: All of them; with or without this one.
        count: How many probe each instance; all where there are fewer.
    """

    def __init__(self, me: str, members: Iterable[str], *, count: int = PROBERS) -> None:
        self.members = tuple(sorted({me, *members}))
        self._me = point(me)
        self._others = [point(member) for member in self.members if member != me]
        self._count = count
        self._known: dict[Sequence[str], bool] = {}

    @property
    def is_divided(self) -> bool:
        """Say whether anybody leaves an instance to others."""
        return len(self._others) >= self._count

    def is_mine(self, subject: Sequence[str]) -> bool:
        """Say whether an instance, by its key, falls to this gateway."""
        if not self.is_divided:
            return True
        known = self._known.get(subject)
        if known is None:
            known = is_chosen(self._me, point(name_of(subject)), self._others, count=self._count)
            self._known[subject] = known
        return known

    def look_ahead(self, subjects: Iterable[Sequence[str]]) -> int:
        """Decide for all of these, in a thread where there are many; gives how many fall to this gateway."""
        return sum(self.is_mine(subject) for subject in subjects)


def name_of(subject: Sequence[str]) -> str:
    """Name an instance by model, version and URL: what every gateway knows of it."""
    return "\n".join(subject)
