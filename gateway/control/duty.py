"""Which instances this gateway probes itself, and when: all of them while it is alone, its share among others.

An instance that others probe is left alone until somebody doubts it, nobody vouches for it, or requests of ours fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gateway.control.resolver import literal
from gateway.control.schedule import AT_ONCE, NEVER, ProbeSchedule
from gateway.control.standing import InstanceKey, Tracked
from gateway.health.identity import Identity
from gateway.health.liveness import Liveness
from gateway.health.probe_schedule import next_probe_at
from gateway.sharing import hearsay as others


class Duty:
    """Sets the moments of probes.

    Args:
        now: Monotonic clock.
        draw: Uniform in [0, 1).
        schedule: Learns when an instance wants probing; the prober empties it.
        interval_s: Seconds between probes of an instance in good order.
    """

    def __init__(
        self, *, now: Callable[[], float], draw: Callable[[], float], schedule: ProbeSchedule, interval_s: float
    ) -> None:
        self._now = now
        self._draw = draw
        self._schedule = schedule
        self._interval_s = interval_s
        self._is_mine: Callable[[InstanceKey], bool] = _everything

    def share(self, is_mine: Callable[[InstanceKey], bool]) -> None:
        """Leave the instances that are not `is_mine` to other gateways."""
        self._is_mine = is_mine

    def redivide(self, every: Iterable[Tracked]) -> None:
        """Take up and lay down probing after `is_mine` gives other answers than before."""
        for one in every:
            if self._is_watched_here(one):
                self._schedule.rouse(one.instance.key, self._now() + others.TAKE_UP_S * self._draw())
            else:
                self._schedule.put(one.instance.key, NEVER)

    def take_up(self, one: Tracked) -> None:
        """Probe a new instance at once; those that fall to others only where they have told nothing in a while."""
        is_ours = self._is_mine(one.instance.key) or literal(one.instance.host) is None
        self._schedule.put(one.instance.key, AT_ONCE if is_ours else self._now() + others.GRACE_S * (1 + self._draw()))

    def look_again(self, one: Tracked) -> None:
        """Probe at once what is held to another contract, or registered otherwise, than before."""
        if self._is_watched_here(one):
            self._schedule.hasten(one.instance.key, AT_ONCE)

    def lay_down(self, key: InstanceKey) -> None:
        """Probe an instance that left no more."""
        self._schedule.drop(key)

    def probed(self, one: Tracked) -> None:
        """Set the moment of the next probe after one came back."""
        is_down = one.liveness.liveness is Liveness.DOWN
        self._schedule.put(one.instance.key, self._next_at(one), is_down=is_down)

    def changed(self, one: Tracked) -> None:
        """Bring the next probe forward after an answer or a request changed what is known."""
        self._schedule.hasten(one.instance.key, self._next_at(one))

    def heard(self, one: Tracked) -> None:
        """Look at once at what was doubted and falls to us; leave to others what they vouch for or doubt."""
        if not self._is_watched_here(one):
            self._schedule.put(one.instance.key, NEVER)
        elif one.identity.identity is not Identity.VERIFIED:
            self._schedule.hasten(one.instance.key, self._now())

    def _is_watched_here(self, one: Tracked) -> bool:
        """Say whether we probe an instance. One that is named may be another machine on every gateway."""
        return (
            self._is_mine(one.instance.key)
            or literal(one.instance.host) is None
            or one.listed.is_doubted
            or others.needs_a_look(one.hearsay, one.identity, one.liveness)
        )

    def _next_at(self, one: Tracked) -> float:
        if not self._is_watched_here(one):
            return NEVER
        # Those that fall to others are not looked at every second by everybody because they are down.
        is_mine = one.hearsay.here or self._is_mine(one.instance.key)
        return next_probe_at(
            one.identity.identity,
            one.liveness.liveness if is_mine else Liveness.UP,
            now=self._now(),
            draw=self._draw(),
            interval_s=self._interval_s,
        )


def _everything(key: InstanceKey) -> bool:
    del key
    return True
