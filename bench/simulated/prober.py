"""The prober of a simulated gateway: the gateway's own schedule and pace, on the simulated clock."""

from __future__ import annotations

from collections.abc import Callable

from bench.simulated.clock import Clock
from gateway.control.prober import Pace
from gateway.control.schedule import NEVER, ProbeSchedule
from gateway.control.standing import InstanceKey
from gateway.settings import Settings

_DEFAULTS = Settings.model_fields
PROBES_PER_S = float(_DEFAULTS["probe_rate"].default)
CONCURRENCY = int(_DEFAULTS["probe_concurrency"].default)


class SimulatedProber:
    """Takes what is due and probes it; a probe takes no time.

    Args:
        clock: Time.
        probe: Probes an instance and gives the second of its next probe, None where others watch it.
    """

    def __init__(self, clock: Clock, probe: Callable[[InstanceKey], float | None]) -> None:
        self._clock = clock
        self._probe = probe
        self._schedule = ProbeSchedule(lambda: clock.now)
        self._pace = Pace(PROBES_PER_S, burst=CONCURRENCY)
        self._known: set[InstanceKey] = set()
        self._wakes_at = NEVER
        self._has_token = True

    def __contains__(self, key: InstanceKey) -> bool:
        """Say whether an instance has a moment."""
        return key in self._known

    def put(self, key: InstanceKey, at: float) -> None:
        """Set the moment of a probe."""
        self._known.add(key)
        self._schedule.put(key, at)
        self._wake_by(at)

    def rouse(self, key: InstanceKey, at: float) -> None:
        """Take over an instance that was left to others."""
        self._known.add(key)
        self._schedule.put(key, NEVER)
        self._schedule.rouse(key, at)
        self._wake_by(at)

    def _wake_by(self, at: float) -> None:
        """Look at the schedule at that second, unless something comes before it or the pace forbids."""
        at = max(at, self._clock.now)
        if self._has_token and at < self._wakes_at:
            self._wakes_at = at
            self._clock.at(at, self._wake, at)

    def _wake(self, at: float) -> None:
        if at == self._wakes_at and self._has_token:
            self._wakes_at = NEVER
            self._take()

    def _take(self) -> None:
        while (key := self._schedule.take_due()) is not None:
            next_at = self._probe(key)
            if next_at is None:
                self._known.discard(key)
                continue
            self._schedule.put(key, next_at)
            self._has_token = False
            self._clock.after(self._pace.wait_s(self._clock.now), self._take_token)
            return
        if (at := self._schedule.earliest()) is not None:
            self._wake_by(at)

    def _take_token(self) -> None:
        self._has_token = True
        self._take()
