"""Whether another gateway still lives: its beat moves, and the observer's own clock says since when it has not.

No clock of another machine is read. Each gateway watches a few others, chosen by rendezvous, so that watching costs a
gateway the same however many there are.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from gateway.sharing.rendezvous import is_chosen, point

BEAT_S = 2.0
"""Between two beats of a gateway."""
LOOK_S = 1.0
"""Between two looks at the gateways one watches."""
PATIENCE_S = 5.0
"""A beat that has not moved for so long is a dead gateway's. With one look before and one after: found in 7 s."""
WATCHERS = 3
"""How many watch each gateway: two may die together with it."""


@dataclass(frozen=True, slots=True)
class Pulse:
    """What one observer knows of a gateway's beat.

    Attributes:
        beat: What the beat was when it was last seen; None where there is none.
        moved_at: The observer's monotonic second at which it was first seen so.
    """

    beat: str | None
    moved_at: float

    def is_dead(self, now: float) -> bool:
        """Say whether the beat has stood still for longer than a living gateway lets it."""
        return now - self.moved_at > PATIENCE_S


def feel(pulse: Pulse | None, beat: str | None, *, now: float) -> Pulse:
    """Take in one look at a beat; returns the very same object where it has not moved."""
    if pulse is not None and pulse.beat == beat:
        return pulse
    return Pulse(beat, now)


def watched_by(me: str, members: Collection[str]) -> tuple[str, ...]:
    """List the members that one of them watches."""
    mine, points = point(me), {member: point(member) for member in members if member != me}
    watched = []
    for member in sorted(points):
        others = (other for name, other in points.items() if name != member)
        if is_chosen(mine, point(f"beat of {member}"), others, count=WATCHERS):
            watched.append(member)
    return tuple(watched)
