"""The one file that wires. Read `build` to see everything that exists."""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import socket
import ssl
import sys
from collections.abc import Awaitable, Callable
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
from gateway.control.supervise import keep_running
from gateway.control.watcher import Watcher
from gateway.fitness import installed, origins, unfit
from gateway.lifecycle import Gateway, run
from gateway.listeners import PortTaken, address_of, admin_server, bind, data_server
from gateway.process import connections_within, give_memory_back, raise_descriptors
from gateway.proxy.limits import Limits
from gateway.proxy.plane import DataPlane
from gateway.settings import Settings
from gateway.sources.files import FileSource
from gateway.telemetry.access import AccessLog
from gateway.telemetry.changes import fan_out
from gateway.telemetry.events import EventLog
from gateway.telemetry.gauges import FleetGauges
from gateway.telemetry.lag import watch_lag
from gateway.telemetry.metrics import Metrics
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
        source = open_source(settings)
        tls = worker_tls(settings.worker_ca_file)
        sockets = Sockets.bind(settings)
    except (PortTaken, SourceUnknown, CertificatesUnreadable) as error:
        print(f"dna: {error}", file=sys.stderr)  # noqa: T201 - the last word of a process that did not start
        return FAILED if isinstance(error, PortTaken) else WRONG_USAGE
    log = Logs.open(settings)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve(settings, source, tls, sockets, log))
    finally:
        log.access.close()
    return 0


async def _serve(settings: Settings, source: FileSource, tls: ssl.SSLContext, sockets: Sockets, log: Logs) -> None:
    await run(build(settings, source, tls, sockets, log))


def build(settings: Settings, source: FileSource, tls: ssl.SSLContext, sockets: Sockets, log: Logs) -> Gateway:
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
    )
    watcher = Watcher(source=source, fleet=fleet, listener=listener, now=runtime.now, wall=runtime.wall)
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
        has_documents=lambda: watcher.state.last_good_at is not None,
        tls=tls,
        defer=asyncio.get_running_loop().call_soon,
    )
    fleet.follow(on_instance=plane.instance_changed, on_documents=plane.documents_changed)
    FleetGauges(registry, lambda: figures(fleet.current(), fleet.documents, fleet.tracked, watcher.state))
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
    )
    loops: dict[str, Loop] = {
        "watcher": watcher.run,
        "prober": prober.run,
        "lag": functools.partial(watch_lag, metrics.loop_lagged, now=runtime.now),
    }
    if alerts is not None:
        loops["alerts"] = alerts.run
    return Gateway(
        plane=plane,
        data=data_server(plane),
        data_socket=sockets.data,
        admin=admin_server(admin_app(admin)),
        admin_socket=sockets.admin,
        loops=[_supervised(name, loop, log.events, metrics) for name, loop in loops.items()],
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


def open_source(settings: Settings) -> FileSource:
    """Open what `--source` names.

    Raises:
        SourceUnknown: It names nothing we can read.
    """
    kind, _, place = (settings.source or "").partition(":")
    if kind != "file" or not place:
        raise SourceUnknown(f"--source {settings.source!r} is not understood; write file:DIR")
    return FileSource(
        Path(place),
        poll_s=settings.source_poll_s,
        settle_s=settings.source_settle_s,
        max_bytes=settings.max_document,
    )


class SourceUnknown(ValueError):
    """A source that cannot be opened; the message says what can."""


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


def _supervised(name: str, loop: Loop, events: EventLog, metrics: Metrics) -> Loop:
    """Keep a background loop running whatever happens in it, and say when it had to be started again."""

    def on_fault(fault: Exception) -> None:
        metrics.watch_restarted()
        events.write("loop_restarted", level="error", error=fault, loop=name)

    return functools.partial(keep_running, loop, on_fault=on_fault)
