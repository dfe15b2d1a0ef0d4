"""Which members of a fleet look after something: highest random weight, the same answer on every gateway.

Every pair of a member and a subject has a weight that anybody can compute; the members with the highest weights are
chosen. A member that leaves gives up only its own subjects, one that joins takes only what becomes its own.
(Thaler and Ravishankar, "Using name-based mappings to increase hit rates", 1998.)
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256

_64_BITS = 2**64 - 1


@lru_cache(maxsize=65_536)
def point(name: str) -> int:
    """Give the place of a member or a subject among 2^64: hashed once, weighed often."""
    return int.from_bytes(sha256(name.encode("utf-8", "surrogateescape")).digest()[:8], "big")


def weight(member: int, subject: int) -> int:
    """Weigh a member for a subject, by their points: the finalizer of splitmix64 over both."""
    mixed = member ^ subject
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _64_BITS
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _64_BITS
    return mixed ^ (mixed >> 31)


def is_chosen(me: int, subject: int, others: Iterable[int], *, count: int) -> bool:
    """Say whether I am among the `count` heaviest members for a subject.

    Not everybody need be weighed: it is enough to find `count` who are heavier.
    A gateway asks this for ten thousand instances each time a member comes or goes; on the average it looks at a few
    dozen of a thousand members.

    Args:
        me: My point.
        subject: The subject's point.
        others: The points of all other members.
        count: How many are chosen.
    """
    mine, heavier = weight(me, subject), 0
    for other in others:
        if weight(other, subject) > mine:
            heavier += 1
            if heavier >= count:
                return False
    return heavier < count
