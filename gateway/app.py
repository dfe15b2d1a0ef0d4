"""The one file that wires. Read `build` to see everything that exists."""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import socket
import ssl
import sys
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import uvloop
from prometheus_client import CollectorRegistry

from gateway import runtime
from gateway.admin.app import AdminParts, admin_app
from gateway.build import is_compiled
from gateway.control.alerts import Alerts
from gateway.control.figures import figures
from gateway.control.fleet import Fleet
from gateway.control.probe_client import ProbeClient
from gateway.control.prober import Prober
from gateway.control.resolver import Resolver
from gateway.control.schedule import ProbeSchedule
from gateway.control.sharing import Sharing
from gateway.control.supervise import LoopState, dead, keep_running
from gateway.control.watcher import Watcher
from gateway.fitness import installed, origins, unfit
from gateway.lifecycle import Gateway, run
from gateway.listeners import PortTaken, address_of, admin_server, bind, data_server
from gateway.opened import OpenedSource, SourceUnknown, open_list_copies, open_source, place_of
from gateway.process import SetAside, connections_within, give_memory_back, raise_descriptors
from gateway.proxy.limits import Limits
from gateway.proxy.plane import DataPlane
from gateway.settings import Settings
from gateway.signers import Signers, SignersUnreadable, read_signers
from gateway.sources.consul.address import AddressRefused, ConsulAddress, parse_address
from gateway.sources.consul.catalogue import ConsulCatalogue
from gateway.sources.consul.client import ConsulClient
from gateway.telemetry.access import AccessLog
from gateway.telemetry.changes import fan_out
from gateway.telemetry.consul import ConsulGauges
from gateway.telemetry.events import EventLog
from gateway.telemetry.gauges import FleetGauges
from gateway.telemetry.lag import watch_lag
from gateway.telemetry.metrics import Metrics
from gateway.telemetry.sharing import SharingGauges
from gateway.worker_tls import CertificatesUnreadable, worker_tls

FAILED, WRONG_USAGE, NOT_FIT = 1, 2, 3
Loop = Callable[[], Awaitable[None]]


def serve(settings: Settings) -> int:
    """Run the gateway until it is told to stop; give the exit code of the process."""
    faults = list(unfit(installed(), origins()))
    if faults:
        print("\n".join(f"dna: {fault}" for fault in faults), file=sys.stderr)  # noqa: T201 - as below
        return NOT_FIT
    try:
        place = place_of(settings.source, os.environ)
        tls = worker_tls(settings.worker_ca_file)
        signers = read_signers(settings.contract_keys)
        shared = shared_through(settings)
        sockets = Sockets.bind(settings)
    except (PortTaken, SourceUnknown, CertificatesUnreadable, SignersUnreadable, AddressRefused) as error:
        print(f"dna: {error}", file=sys.stderr)  # noqa: T201 - the last word of a process that did not start
        return FAILED if isinstance(error, PortTaken) else WRONG_USAGE
    log = Logs.open(settings)
    set_aside = SetAside()
    set_aside.watch()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve(functools.partial(build, settings, place, tls, signers, shared, sockets, log, set_aside)))
    finally:
        log.access.close()
    return 0


async def _serve(make: Callable[[], Gateway]) -> None:
    await run(make())  # made on the loop that it runs on


def build(
    settings: Settings,
    place: Path | ConsulAddress,
    tls: ssl.SSLContext,
    signers: Signers,
    shared: ConsulAddress | None,
    sockets: Sockets,
    log: Logs,
    set_aside: SetAside,
) -> Gateway:
    """Wire the gateway. Runs inside the event loop, starts nothing."""
    program = version("dna-gateway")
    registry = CollectorRegistry()
    metrics = Metrics(registry, build=program, lines_dropped=lambda: log.access.lines.dropped)
    alerts = open_alerts(settings, metrics, sockets, log.events)
    schedule = ProbeSchedule(runtime.now)
    listener = fan_out(log.events.change, metrics.change, *([alerts.change] if alerts else []))
    fleet = Fleet(
        now=runtime.now,
        draw=runtime.draw,
        schedule=schedule,
        metrics=metrics,
        listener=listener,
        liveness=settings.liveness,
        probe_interval_s=settings.probe_interval_s,
        has_catalogue=isinstance(place, ConsulAddress),
    )
    opened = open_source(settings, place, events=log.events, on_oddity=functools.partial(_odd, log.events, metrics))
    watcher = Watcher(
        source=opened.source,
        fleet=fleet,
        listener=listener,
        now=runtime.now,
        wall=runtime.wall,
        signers=signers,
        keep=opened.keep,
        taking_in=set_aside.taking_in,
    )
    plane = DataPlane(
        snapshot=fleet.current,
        report=fleet,
        metrics=metrics,
        write_records=log.access.write,
        limits=_limits(settings, log.events),
        budget=settings.retry_budget,
        slow_start_s=settings.slow_start_s,
        now=runtime.now,
        wall=runtime.wall,
        draw=runtime.draw,
        new_request_id=runtime.request_ids.new,
        has_documents=lambda: watcher.state.has_documents,
        tls=tls,
        defer=asyncio.get_running_loop().call_soon,
    )
    sharing = open_sharing(settings, shared, fleet, log.events) if shared is not None else None
    on_documents = [sharing.documents_changed] if sharing else []
    catalogue = open_catalogue(settings, opened, fleet, log.events)
    if catalogue is not None:
        on_documents.append(lambda: catalogue.follow(fleet.choice.services))
    fleet.follow(
        on_swap=plane.documents_changed,
        on_instance=plane.instance_changed,
        on_documents=lambda: _call(on_documents),
    )
    FleetGauges(registry, lambda: figures(fleet.current(), fleet.documents, fleet.choice, fleet.tracked, watcher.state))
    prober = Prober(
        fleet=fleet,
        schedule=schedule,
        resolver=Resolver(timeout_s=settings.probe_timeout_s),
        client=ProbeClient(timeout_s=settings.probe_timeout_s, max_bytes=settings.probe_max_body, tls=tls),
        metrics=metrics,
        now=runtime.now,
        on_fault=lambda fault: log.events.write("probe_fault", level="error", error=fault),
        concurrency=settings.probe_concurrency,
        per_s=settings.probe_rate,
    )
    states: dict[str, LoopState] = {}
    admin = AdminParts(
        gateway=settings.id,
        program=program,
        compiled=is_compiled(),
        fleet=fleet,
        source=lambda: watcher.state,
        prune=watcher.prune,
        registry=registry,
        in_flight=plane.in_flight,
        draining=lambda: plane.draining,
        now=runtime.now,
        wall=runtime.wall,
        draw=runtime.draw,
        started=runtime.wall(),
        signers=tuple(key.id for key in signers),
        sharing=lambda: sharing.state() if sharing else None,
        rights=lambda: opened.rights.known if opened.rights else None,
        dead_loops=lambda: dead(states),
    )
    loops: dict[str, Loop] = {
        "watcher": watcher.run,
        "prober": prober.run,
        **opened.loops,
        "lag": functools.partial(watch_lag, metrics.loop_lagged, now=runtime.now),
    }
    if alerts is not None:
        loops["alerts"] = alerts.run
    if opened.consul is not None:
        ConsulGauges(registry, opened.consul[0])
    if catalogue is not None:
        loops["catalogue"] = catalogue.run
    if sharing is not None:
        loops["sharing"] = sharing.run
        SharingGauges(registry, sharing.state)
    states |= {name: LoopState(runtime.now) for name in loops}
    return Gateway(
        plane=plane,
        data=data_server(plane),
        data_socket=sockets.data,
        admin=admin_server(admin_app(admin)),
        admin_socket=sockets.admin,
        loops=[_supervised(name, loop, states[name], log.events, metrics) for name, loop in loops.items()],
        announce=functools.partial(log.events.write, data=address_of(sockets.data), admin=address_of(sockets.admin)),
    )


@dataclass(frozen=True, slots=True)
class Sockets:
    """The two listening sockets."""

    data: socket.socket
    admin: socket.socket

    @classmethod
    def bind(cls, settings: Settings) -> Sockets:
        """Bind both.

        Raises:
            PortTaken: One of them cannot be listened on.
        """
        data = bind(settings.host, settings.port, option="--port")
        try:
            admin = bind(settings.admin_host or settings.host, settings.admin_port, option="--admin-port")
        except PortTaken:
            data.close()
            raise
        return cls(data, admin)


@dataclass(frozen=True, slots=True)
class Logs:
    """Access records and events; both leave through one writer, so that lines never mix."""

    access: AccessLog
    events: EventLog

    @classmethod
    def open(cls, settings: Settings) -> Logs:
        """Open the log on standard output: text for a terminal, JSON for everything else."""
        terminal = sys.stdout.isatty()
        console = settings.log_format == "text" or (settings.log_format == "auto" and terminal)
        access = AccessLog(sys.stdout.buffer, console=console, capacity=settings.log_queue)
        colours = console and terminal and "NO_COLOR" not in os.environ
        events = EventLog(access.lines, console=console, gateway=settings.id, colours=colours)
        logging.basicConfig(level=logging.WARNING, handlers=[events.handler()], force=True)
        return cls(access, events)


def open_alerts(settings: Settings, metrics: Metrics, sockets: Sockets, events: EventLog) -> Alerts | None:
    """Make the sender of alerts; None where no URL is set."""
    if settings.alert_url is None:
        return None
    admin_url = settings.admin_url or f"http://{address_of(sockets.admin)}"
    return Alerts(
        settings.alert_url,
        gateway=settings.id,
        generator_url=f"{admin_url}/status",
        wall=runtime.wall,
        draw=runtime.draw,
        on_drop=metrics.alert_dropped,
        report=lambda reason: events.write(
            "alerts_failing" if reason else "alerts_delivered", level="warning" if reason else "info", reason=reason
        ),
        settings=settings.alerts,
    )


def open_catalogue(settings: Settings, opened: OpenedSource, fleet: Fleet, events: EventLog) -> ConsulCatalogue | None:
    """Make what follows the instances of services; None where documents do not come from Consul."""
    if opened.consul is None:
        return None
    client = opened.consul[1]
    return ConsulCatalogue(
        client,
        enlist=fleet.enlist,
        now=runtime.now,
        draw=runtime.draw,
        copies=open_list_copies(settings, client.address),
        report=lambda reason: events.write("copy_failing", level="warning", reason=reason),
        wait_s=settings.source_wait_s,
    )


def shared_through(settings: Settings) -> ConsulAddress | None:
    """Give the Consul through which verdicts are shared; None where they are not.

    Raises:
        AddressRefused: What is written there is no address of Consul, or its certificates cannot be used.
    """
    source = settings.source or ""
    where = settings.share_verdicts or (source if source.startswith("consul:") else "off")
    if where == "off":
        return None
    address = parse_address(where, os.environ)
    if address.tls is not None:
        address.tls.context()  # a file that cannot be used is a fault of the start
    return address


def open_sharing(settings: Settings, through: ConsulAddress, fleet: Fleet, events: EventLog) -> Sharing:
    """Make what shares verdicts, below a prefix of its own beside the documents'."""
    prefix = f"{through.prefix}-fleet"
    sharing = Sharing(
        open_client=functools.partial(ConsulClient, through),
        place=str(replace(through, prefix=prefix)),
        prefix=prefix,
        gateway=settings.id,
        fleet=fleet,
        now=runtime.now,
        draw=runtime.draw,
        new_life=runtime.new_life,
        report=events.write,
        probers=settings.share_probers,
    )
    fleet.share(is_mine=sharing.is_mine, on_seen=sharing.seen)
    return sharing


def _limits(settings: Settings, events: EventLog) -> Limits:
    """Give the numbers of the data plane, with no more connections than this process has descriptors for."""
    give_memory_back()
    descriptors = raise_descriptors()
    most = connections_within(descriptors, settings.max_connections)
    if most < settings.max_connections:
        events.write(
            "connections_limited",
            level="warning",
            reason=f"this process may have {descriptors} descriptors; raise its limit (ulimit -n) for more",
            max_connections=most,
        )
    return replace(settings.limits, max_connections=most)


def _call(acts: Iterable[Callable[[], None]]) -> None:
    for act in acts:
        act()


def _odd(events: EventLog, metrics: Metrics, cause: str) -> None:
    """Count and log a reply of the source that looks like an accident."""
    metrics.reading_odd(cause)
    events.write("config_suspicious", level="warning", cause=cause)


def _supervised(name: str, loop: Loop, state: LoopState, events: EventLog, metrics: Metrics) -> Loop:
    """Keep a background loop running whatever happens in it, and say when it had to be started again."""

    def on_fault(fault: Exception) -> None:
        metrics.watch_restarted()
        events.write("loop_restarted", level="error", error=fault, loop=name)

    return functools.partial(keep_running, loop, on_fault=on_fault, state=state)
