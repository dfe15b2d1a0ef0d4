"""Rendezvous hashing by its definition: weigh everybody, sort, take the heaviest."""

from __future__ import annotations

from collections.abc import Iterable

from gateway.sharing.rendezvous import point, weight


def chosen(subject: str, members: Iterable[str], *, count: int) -> tuple[str, ...]:
    """The members that look after a subject, the heaviest first; all of them where there are fewer than `count`."""
    at = point(subject)
    return tuple(sorted(members, key=lambda member: (-weight(point(member), at), member))[:count])
