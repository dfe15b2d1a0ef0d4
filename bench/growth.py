"""Growth: the same load onto ours while the fleet grows. Flat figures mean that a request never looks at all of it.

Two axes. `contracts`: so many models with one instance each; requests name a hundred of them in turn, so that the
size of the snapshot grows and the set of warm connections does not. `instances`: one model with so many instances;
every one of them gets requests, so here the connections grow too. All instances are base paths of one listener.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic

from bench import procfs
from bench.ask import ask
from bench.calm import Calm
from bench.cores import CoreSplit
from bench.load.driver import Driver, Target
from bench.machine import describe
from bench.peers import gateway
from bench.peers.peer import Site
from bench.places import workplace
from bench.plan import GROWTH_CONNECTIONS, OPEN_CONNECTIONS, Plan
from bench.processes import Running, StartError, free_port
from bench.progress import say
from bench.results import ClosedRepeat, Growth, GrowthRow, OpenRepeat
from bench.upstream.nginx import NginxUpstream
from bench.work import MODEL, request_body
from tools import compiled

AXES = ("contracts", "instances")
ASKED = 100
"""Models that requests name, of however many there are."""
PROBES_PER_S = 20.0
"""Larger fleets are probed less often, so that probing costs the same at every size."""
READY_S = 300.0
OPEN_RATE = 2_000.0
"""One modest rate for every size: its p99 is about the proxy and not about a queue."""
WARM_DIALS, WARM_S = 0.05, 10
"""Load goes before each measurement, a second at a time, until fewer requests than this share dial a worker, or so
long: an instance is dialled with its first request, and ten thousand have their first only after some seconds."""


def grow(cores: CoreSplit, plan: Plan, sizes: Sequence[int]) -> Growth:
    """Measure every size on both axes.

    Raises:
        StartError: The upstream did not start.
        LoadError: A load generator failed.
    """
    machine, rows = describe(cores), []
    with workplace() as folder, NginxUpstream(folder, cores=cores.upstream, listeners=1) as upstream:
        calm = Calm(cores.all, plan.patience_s)
        for axis in AXES:
            for size in sizes:
                place = folder / f"{axis}-{size}"
                fleet = _Fleet(place, upstream, cores, axis=axis, size=size)
                rows.append(fleet.measured(plan, calm))
        closed_by = Driver(cores, folder).closed_by
    return Growth(
        taken_at=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=machine,
        closed_by=closed_by,
        connections=GROWTH_CONNECTIONS,
        rows=rows,
    )


class _Dials:
    """Counts the connections that the upstream accepts from now on: the gateway's dials, for requests and probes."""

    def __init__(self, upstream: NginxUpstream) -> None:
        self._upstream = upstream
        self._before = upstream.accepted()

    def share_of(self, requests: int) -> float:
        """Say how many there were for each of so many requests."""
        return (self._upstream.accepted() - self._before - 1) / max(requests, 1)


class _Fleet:
    """One gateway over one size of fleet."""

    def __init__(self, place: Path, upstream: NginxUpstream, cores: CoreSplit, *, axis: str, size: int) -> None:
        self._cores, self._upstream = cores, upstream
        self._axis, self._size = axis, size
        self._site = Site(place, free_port(), free_port(), upstream.urls)
        self._models = fleet_models(axis, size)
        self._interval_s = probe_interval_s(size)
        self._env = compiled.environment(compiled.build())
        place.mkdir()
        for model, instances in fleet_documents(axis, size, upstream.urls[0]):
            gateway.write_contract(place, model, instances)

    def measured(self, plan: Plan, calm: Calm) -> GrowthRow:
        command = gateway.command(self._site, Path(sys.executable), probe_interval_s=self._interval_s)
        log = self._site.folder / "output.log"
        started = monotonic()
        with ExitStack() as stack:
            running = stack.enter_context(
                Running(command, cores=self._cores.proxy, log=log, cwd=self._site.folder, env=self._env)
            )
            # Asking costs the gateway time that it needs for its first probes, the more the larger the fleet.
            pause_s = max(self._size / 1_000, 0.1)
            what = f"{self._size} verified {self._axis}"
            try:
                running.wait_until(self._is_verified, what=what, timeout_s=READY_S, pause_s=pause_s)
            except StartError as error:
                say(f"{what}: {error}")
                return GrowthRow(self._axis, self._size, None, self._interval_s, 0.0, [])
            ready_s = monotonic() - started
            return self._loaded(running, plan, calm, ready_s)

    def _loaded(self, running: Running, plan: Plan, calm: Calm, ready_s: float) -> GrowthRow:
        driver = Driver(self._cores, self._site.folder, rest=self._upstream.pids, models=self._models)
        target = Target(self._site.port, running.family)
        repeats, opens, closed_dials, open_dials = [], [], [], []
        for _ in range(plan.rounds):
            calm.wait()  # before the warming: idle connections are kept for seconds only
            self._warm(driver, target)
            dials = _Dials(self._upstream)
            seen = driver.closed(target, connections=GROWTH_CONNECTIONS, seconds=plan.seconds)
            closed_dials.append(dials.share_of(seen.requests))
            dials = _Dials(self._upstream)
            at_rate = driver.open(target, rate=OPEN_RATE, connections=OPEN_CONNECTIONS, seconds=plan.seconds)
            open_dials.append(dials.share_of(at_rate.requests))
            repeats.append(ClosedRepeat.of(seen))
            opens.append(OpenRepeat.of(at_rate, OPEN_RATE))
            say(f"{self._size} {self._axis}: {seen.requests_per_s:,.0f} requests/s, p99 {at_rate.p99_ms:.2f} ms")
        rss = procfs.rss_bytes(target.pids) / 2**20
        return GrowthRow(
            self._axis, self._size, ready_s, self._interval_s, rss, repeats, opens, closed_dials, open_dials
        )

    def _warm(self, driver: Driver, target: Target) -> None:
        for _ in range(WARM_S):
            dials = _Dials(self._upstream)
            seen = driver.closed(target, connections=GROWTH_CONNECTIONS, seconds=1)
            if dials.share_of(seen.requests) < WARM_DIALS:
                return

    def _is_verified(self) -> bool:
        """Ask for every model that the load will name; for instances, the count that the gateway itself shows."""
        if any(ask(self._site.port, body=request_body(model)).status != 200 for model in self._models):
            return False
        return self._verified() >= self._size

    def _verified(self) -> int:
        answer = ask(self._site.spare_port, "/status", method="GET", timeout_s=30)
        if answer.status != 200:
            return 0
        return sum(instance["identity"] == "verified" for instance in json.loads(answer.body)["instances"])


def fleet_models(axis: str, size: int) -> list[str]:
    """The models that requests name."""
    if axis == "instances":
        return [f"{MODEL}-0"]
    step = max(size // ASKED, 1)
    return [f"{MODEL}-{number}" for number in range(0, size, step)][:ASKED]


def fleet_documents(axis: str, size: int, url: str) -> list[tuple[str, list[str]]]:
    """Model ids with their instances' base URLs."""
    if axis == "instances":
        return [(f"{MODEL}-0", [f"{url}/w/0/i/{number}" for number in range(size)])]
    return [(f"{MODEL}-{number}", [f"{url}/w/{number}"]) for number in range(size)]


def probe_interval_s(size: int) -> float:
    """The gateway's default, or longer where the fleet is large."""
    return max(gateway.PROBE_INTERVAL_S, size / PROBES_PER_S)
