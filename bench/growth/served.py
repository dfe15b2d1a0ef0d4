"""A fleet behind a proxy of its own, which is frozen except while it is measured.

All of them share one core here. An idle one takes half a percent of it by its ticks and its looks at the documents,
and more where there are many; a frozen one takes nothing, and what it has verified it still holds when it goes on.
"""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from bench import procfs
from bench.ask import ask
from bench.cores import CoreSplit
from bench.growth.fleet import Fleet
from bench.load.driver import Closed, Driver, Target
from bench.peers import gateway
from bench.peers.haproxy import HAPROXY
from bench.peers.peer import Site
from bench.peers.started import start
from bench.plan import GROWTH_CONNECTIONS, OPEN_CONNECTIONS
from bench.processes import Running, free_port
from bench.results import ClosedRepeat, OpenRepeat
from bench.upstream.nginx import NginxUpstream
from bench.work import request_body
from tools import compiled

READY_S = 300.0
OPEN_RATE = 2_000.0
"""One modest rate for every size: its p99 is about the proxy and not about a queue."""
WARM_DIALS, WARM_S = 0.05, 10
"""Load goes before each measurement, a second at a time, until fewer requests than this share dial a worker, or so
long: an instance is dialled with its first request, and ten thousand have their first only after some seconds."""


@dataclass(frozen=True, slots=True)
class Visit:
    """What one round measured of one fleet; `…_dials` is the share of the requests that dialled a worker.

    `beside` is the same closed loop onto the yardstick right after `closed`; None where there was none.
    """

    closed: ClosedRepeat
    closed_dials: float
    beside: ClosedRepeat | None
    open: OpenRepeat
    open_dials: float


class Served:
    """A fleet that stands ready; made by `serve` and `serve_by_haproxy`.

    Attributes:
        fleet: The fleet.
        ready_s: Seconds from the start of the process until all of it is verified, or until HAProxy relays.
    """

    def __init__(
        self, fleet: Fleet, ready_s: float, *, port: int, running: Running, driver: Driver, upstream: NginxUpstream
    ) -> None:
        self.fleet, self.ready_s = fleet, ready_s
        self._running, self._driver, self._upstream = running, driver, upstream
        self._target = Target(port, running.family)

    @property
    def rss_mib(self) -> float:
        """Resident memory of its proxy."""
        return procfs.rss_bytes(self._target.pids) / 2**20

    def visit(self, seconds: float, *, yardstick: Served | None) -> Visit:
        """Measure once: the closed loop, at once the same onto the yardstick, then the open loop; `seconds` each.

        Raises:
            LoadError: A load generator failed.
        """
        with self._running.thawed():
            self._warm()
            dials = _Dials(self._upstream)
            closed = self._closed(seconds)
            closed_dials = dials.share_of(closed.requests)
        beside = ClosedRepeat.of(yardstick.glance(seconds)) if yardstick is not None else None
        with self._running.thawed():
            dials = _Dials(self._upstream)
            at_rate = self._driver.open(self._target, rate=OPEN_RATE, connections=OPEN_CONNECTIONS, seconds=seconds)
            open_dials = dials.share_of(at_rate.requests)
        return Visit(ClosedRepeat.of(closed), closed_dials, beside, OpenRepeat.of(at_rate, OPEN_RATE), open_dials)

    def glance(self, seconds: float) -> Closed:
        """Only the closed loop, with no load before it: a small fleet has dialled all that it needs in no time.

        Raises:
            LoadError: The load generator failed.
        """
        with self._running.thawed():
            return self._closed(seconds)

    def _warm(self) -> None:
        for _ in range(WARM_S):
            dials = _Dials(self._upstream)
            if dials.share_of(self._closed(1).requests) < WARM_DIALS:
                return

    def _closed(self, seconds: float) -> Closed:
        return self._driver.closed(self._target, connections=GROWTH_CONNECTIONS, seconds=seconds)


class _Dials:
    """Counts the connections that the upstream accepts from now on: the gateway's dials, for requests and probes."""

    def __init__(self, upstream: NginxUpstream) -> None:
        self._upstream = upstream
        self._before = upstream.accepted()

    def share_of(self, requests: int) -> float:
        """Say how many there were for each of so many requests."""
        return (self._upstream.accepted() - self._before - 1) / max(requests, 1)


def serve(fleet: Fleet, folder: Path, upstream: NginxUpstream, cores: CoreSplit, *, stack: ExitStack) -> Served:
    """Start a gateway over the fleet, wait until it has verified all of it, and freeze it; the stack stops it.

    Raises:
        StartError: It ended, or did not get so far within `READY_S`; then it is stopped already.
    """
    site = Site(folder / f"{fleet.axis}-{fleet.size}", free_port(), free_port(), upstream.urls)
    site.folder.mkdir()
    for model, instances in fleet.documents(upstream.urls[0]):
        gateway.write_contract(site.folder, model, instances)
    command = gateway.command(site, Path(sys.executable), probe_interval_s=fleet.probe_interval_s)
    env, log = compiled.environment(compiled.build()), site.folder / "output.log"
    with ExitStack() as unless_verified:
        started = monotonic()
        running = unless_verified.enter_context(Running(command, cores=cores.proxy, log=log, cwd=site.folder, env=env))
        running.wait_until(
            lambda: _is_verified(fleet, site),
            what=f"{fleet.name} to be verified",
            timeout_s=READY_S,
            # Asking costs the gateway time that it needs for its first probes, the more the larger the fleet.
            pause_s=max(fleet.size / 1_000, 0.1),
        )
        ready_s = monotonic() - started
        running.freeze()
        stack.enter_context(unless_verified.pop_all())
    driver = Driver(cores, site.folder, rest=upstream.pids, models=fleet.models)
    return Served(fleet, ready_s, port=site.port, running=running, driver=driver, upstream=upstream)


def serve_by_haproxy(
    fleet: Fleet, folder: Path, upstream: NginxUpstream, cores: CoreSplit, *, stack: ExitStack
) -> Served:
    """Start HAProxy over as many listeners of the upstream, and freeze it; the stack stops it.

    Raises:
        StartError: It is not here, ended, or does not relay.
    """
    place, began = folder / f"{fleet.axis}-{fleet.size}", monotonic()
    started = start(HAPROXY, place, upstream.urls[: fleet.size], cores=cores.proxy, stack=stack)
    ready_s = monotonic() - began
    started.running.freeze()
    driver = Driver(cores, place, rest=upstream.pids, models=fleet.models)
    return Served(fleet, ready_s, port=started.site.port, running=started.running, driver=driver, upstream=upstream)


def _is_verified(fleet: Fleet, site: Site) -> bool:
    """Ask for every model that the load will name; for instances, the count that the gateway itself shows."""
    if any(ask(site.port, body=request_body(model)).status != 200 for model in fleet.models):
        return False
    return _verified(site) >= fleet.size


def _verified(site: Site) -> int:
    answer = ask(site.spare_port, "/status", method="GET", timeout_s=30)
    if answer.status != 200:
        return 0
    return sum(instance["identity"] == "verified" for instance in json.loads(answer.body)["instances"])
