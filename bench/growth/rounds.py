"""Growth: fleets of all sizes stand ready at once and are measured in turn, round by round, as all proxies are.

A machine whose speed changes within seconds is slow for one fleet and fast for the next. So the first fleet of the same
proxy, the yardstick, is measured again right after every other one, and ratios are taken between the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from bench.calm import Calm
from bench.cores import CoreSplit
from bench.growth.fleet import Fleet, fleets
from bench.growth.served import Served, Visit, serve, serve_by_haproxy
from bench.load.driver import Driver
from bench.machine import describe
from bench.places import workplace
from bench.plan import GROWTH_CONNECTIONS, Plan, rotated
from bench.processes import StartError
from bench.progress import say
from bench.results import Growth, GrowthRow
from bench.upstream.nginx import NginxUpstream


def grow(cores: CoreSplit, plan: Plan, sizes: Sequence[int]) -> Growth:
    """Measure every size on both axes.

    Raises:
        StartError: The upstream did not start.
        LoadError: A load generator failed.
    """
    machine, everyone = describe(cores), fleets(sizes)
    with ExitStack() as stack:
        folder = stack.enter_context(workplace())
        listeners = max((fleet.size for fleet in everyone if not fleet.is_ours), default=1)
        upstream = stack.enter_context(NginxUpstream(folder, cores=cores.upstream, listeners=listeners))
        served = _serve_all(everyone, folder, upstream, cores, stack)
        visits = _visit_all(served, plan, Calm(cores.all, plan.patience_s))
        rows = [_row(fleet, served.get(fleet), visits) for fleet in everyone]
        closed_by = Driver(cores, folder).closed_by
    return Growth(
        taken_at=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=machine,
        closed_by=closed_by,
        connections=GROWTH_CONNECTIONS,
        rows=rows,
        seconds=plan.seconds,
        rounds=plan.rounds,
    )


def _serve_all(
    everyone: Sequence[Fleet], folder: Path, upstream: NginxUpstream, cores: CoreSplit, stack: ExitStack
) -> dict[Fleet, Served]:
    """Start one after the other, so that each is verified at its own pace; one that is not costs only itself."""
    served = {}
    for fleet in everyone:
        try:
            start = serve if fleet.is_ours else serve_by_haproxy
            served[fleet] = start(fleet, folder, upstream, cores, stack=stack)
            say(f"{fleet.name}: ready after {served[fleet].ready_s:.1f} s")
        except StartError as error:
            say(f"skipping {fleet.name}: {error}")
    return served


def _visit_all(served: Mapping[Fleet, Served], plan: Plan, calm: Calm) -> dict[Fleet, list[Visit]]:
    visits: dict[Fleet, list[Visit]] = {fleet: [] for fleet in served}
    for turn in range(plan.rounds):
        for each in rotated(list(served.values()), turn):
            calm.wait()
            yardstick = next(first for first in served.values() if first.fleet.is_ours == each.fleet.is_ours)
            seen = each.visit(plan.seconds, yardstick=yardstick if each is not yardstick else None)
            visits[each.fleet].append(seen)
            closed = f"{seen.closed.requests_per_s:,.0f} requests/s, {seen.closed.cpu_us:.1f} µs of CPU each"
            say(f"round {turn + 1}: {each.fleet.name}: {closed}, p99 {seen.open.p99_ms:.2f} ms")
    return visits


def _row(fleet: Fleet, served: Served | None, visits: Mapping[Fleet, Sequence[Visit]]) -> GrowthRow:
    if served is None:
        return growth_row(fleet, (), ready_s=None, rss_mib=0.0)
    return growth_row(fleet, visits[fleet], ready_s=served.ready_s, rss_mib=served.rss_mib)


def growth_row(fleet: Fleet, visits: Sequence[Visit], *, ready_s: float | None, rss_mib: float) -> GrowthRow:
    """What is kept of a fleet, in the order of the rounds."""
    return GrowthRow(
        axis=fleet.axis,
        size=fleet.size,
        ready_s=ready_s,
        probe_interval_s=fleet.probe_interval_s,
        rss_mib=rss_mib,
        repeats=[visit.closed for visit in visits],
        open=[visit.open for visit in visits],
        closed_dials=[visit.closed_dials for visit in visits],
        open_dials=[visit.open_dials for visit in visits],
        beside=[visit.beside for visit in visits if visit.beside is not None],
    )
