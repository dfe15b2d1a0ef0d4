"""Probe instances on a schedule, bounded in number and in rate, beside everything else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol

from contracts.address import health_address, parse_address
from gateway.control.probe_client import Answer, ProbeClient, unreachable
from gateway.control.resolver import Resolver
from gateway.control.schedule import ProbeSchedule
from gateway.control.standing import InstanceKey, Probe, Tracked
from gateway.telemetry.metrics import Metrics

_AFTER_FAULT_S = 5.0


class Probed(Protocol):
    """Whose instances are probed, and who learns of it (the fleet)."""

    @property
    def tracked(self) -> Mapping[InstanceKey, Tracked]:
        """Every instance."""
        ...

    def locate(self, key: InstanceKey, address: str) -> None:
        """Take in where an instance is found."""
        ...

    def observe_probe(self, key: InstanceKey, probe: Probe) -> None:
        """Take in a probe and put the instance back on the schedule."""
        ...


class Prober:
    """Takes what is due from the schedule and asks it.

    Args:
        fleet: Whose instances are probed.
        schedule: Says which is due.
        resolver: Finds the addresses of instances that are named.
        client: Sends the probes.
        metrics: Counts them.
        now: Monotonic clock.
        on_fault: Is told a fault of ours; the instance is probed again later.
        concurrency: Probes under way at one time.
        per_s: Probes a second at the most. Far above what a fleet in good order needs: it keeps thousands of dead
            addresses from taking the event loop.
    """

    def __init__(
        self,
        *,
        fleet: Probed,
        schedule: ProbeSchedule,
        resolver: Resolver,
        client: ProbeClient,
        metrics: Metrics,
        now: Callable[[], float],
        on_fault: Callable[[Exception], None],
        concurrency: int = 64,
        per_s: float = 200.0,
    ) -> None:
        self._fleet = fleet
        self._schedule = schedule
        self._resolver = resolver
        self._client = client
        self._metrics = metrics
        self._now = now
        self._on_fault = on_fault
        self._concurrency = concurrency
        self._pace = Pace(per_s, burst=concurrency)

    async def run(self) -> None:
        """Probe until cancelled."""
        slots = asyncio.Semaphore(self._concurrency)
        async with asyncio.TaskGroup() as group:
            while True:
                await slots.acquire()
                await asyncio.sleep(self._pace.wait_s(self._now()))
                group.create_task(self._probe(await self._schedule.next(), slots))

    async def _probe(self, key: InstanceKey, slots: asyncio.Semaphore) -> None:
        try:
            one = self._fleet.tracked.get(key)
            if one is not None:  # it may have left the documents since it became due
                await self._probe_one(key, one)
        except Exception as fault:  # noqa: BLE001 - one instance must not end the probing of all others
            self._on_fault(fault)
            self._schedule.put(key, self._now() + _AFTER_FAULT_S)
        finally:
            slots.release()

    async def _probe_one(self, key: InstanceKey, one: Tracked) -> None:
        started_at = self._now()
        answer = await self._ask(key, one)
        ended_at = self._now()
        self._metrics.probed(ended_at - started_at, answer.failure)
        self._fleet.observe_probe(key, _as_probe(answer, started_at, ended_at))

    async def _ask(self, key: InstanceKey, one: Tracked) -> Answer:
        """Probe the address that requests go to; an attestor elsewhere is asked where its own URL says."""
        instance = one.instance
        try:
            address = await self._resolver.resolve(instance.host, known=instance.address)
        except OSError as error:
            return unreachable(str(error))
        self._fleet.locate(key, address)
        url = health_address(one.contract.health_url, parse_address(instance.url))
        return await self._client.probe(url, at={instance.host: address})


def _as_probe(answer: Answer, started_at: float, ended_at: float) -> Probe:
    return Probe(
        at=ended_at,
        outcome=answer.outcome,
        seconds=ended_at - started_at,
        detail=answer.detail,
        observation=answer.observation,
        started_at=started_at,
    )


class Pace:
    """A token bucket: so many at once, then so many a second."""

    def __init__(self, per_s: float, *, burst: int) -> None:
        self._spacing_s = 1.0 / per_s
        self._lead_s = burst / per_s
        self._next_at = float("-inf")

    def wait_s(self, now: float) -> float:
        """Take one token and say how many seconds to wait before using it."""
        self._next_at = max(self._next_at + self._spacing_s, now - self._lead_s)
        return max(0.0, self._next_at - now)
