"""A data plane without sockets: transports that do what the story says, a clock that it moves, ears that remember."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from prometheus_client import CollectorRegistry

from contracts.verdict import Verdict
from gateway.health import retry_budget
from gateway.health.liveness import ExchangeOutcome
from gateway.proxy.limits import Limits
from gateway.proxy.plane import DataPlane
from gateway.proxy.protocol import DataProtocol
from gateway.routing.snapshot import Instance, Snapshot
from gateway.telemetry.access import AccessRecord
from gateway.telemetry.metrics import Metrics
from inference_dna.observation import Observation
from tests.support.fleets import fleet
from tests.support.raw import Response, parse_responses

LIMITS = replace(
    Limits(),
    client_header_timeout_s=10.0,
    client_body_idle_s=30.0,
    client_keepalive_s=75.0,
    client_max_age_s=900.0,
    client_write_stall_s=30.0,
    lingering_close_s=2.0,
    max_body=1000,
    max_buffered=1500,
    max_connections=3,
)


class Wire(asyncio.Transport):
    """A transport whose peer takes what it is told to take."""

    def __init__(self) -> None:
        super().__init__({"peername": ("10.0.0.9", 1)})
        self.written = b""
        self.unsent = 0
        self.is_aborted = self.is_closed = self.is_half_closed = False
        self.is_paused = False
        self.after_write: Callable[[], None] = lambda: None
        self.after_end: Callable[[], None] = lambda: None

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """The story says when the buffer is full."""

    def write(self, data: Any) -> None:
        self.written += bytes(data)
        self.after_write()

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.is_half_closed = True

    def is_closing(self) -> bool:
        return self.is_aborted or self.is_closed

    def abort(self) -> None:
        ended, self.is_aborted = self.is_closing(), True
        if not ended:
            self.after_end()

    def close(self) -> None:
        ended, self.is_closed = self.is_closing(), True
        if not ended:
            self.after_end()

    def is_reading(self) -> bool:
        return not self.is_paused

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False

    @property
    def responses(self) -> list[Response]:
        return parse_responses(self.written, closed=self.is_half_closed)


@dataclass
class Listener:
    """Whom the data plane tells what it saw of its instances."""

    records: list[AccessRecord] = field(default_factory=list)

    def observe_response(
        self, instance: Instance, observation: Observation, verdict: Verdict, *, started_at: float
    ) -> None:
        """The story's snapshot stays as it is."""

    def observe_exchange(self, instance: Instance, outcome: ExchangeOutcome) -> None:
        """The story's snapshot stays as it is."""


class Server:
    """uvicorn's state of a server."""

    def __init__(self) -> None:
        self.connections: set[Any] = set()


class Gateway:
    """A data plane with a clock that the story moves."""

    def __init__(self, snapshot: Snapshot | None = None, **limits: Any) -> None:
        self.now = 1000.0
        self.heard = Listener()
        self.server = Server()
        self.metrics = Metrics(CollectorRegistry(), build="test")
        self.metrics.keep("m", {"v1.0.0": None})
        self.plane = DataPlane(
            snapshot=lambda: snapshot or fleet("v1.0.0"),
            report=self.heard,
            metrics=self.metrics,
            write_records=self.heard.records.extend,
            limits=replace(LIMITS, **limits),
            now=lambda: self.now,
            wall=lambda: 1_800_000_000.0,
            draw=lambda: 0.5,
            new_request_id=lambda: "r-1",
            budget=retry_budget.DEFAULTS,
            slow_start_s=30.0,
            has_documents=lambda: True,
            tls=ssl.create_default_context(),
            defer=lambda act: act(),
        )

    def connect(self) -> tuple[DataProtocol, Wire]:
        protocol, wire = DataProtocol(self.plane, config=None, server_state=self.server, app_state={}), Wire()
        protocol.connection_made(wire)
        return protocol, wire

    def wait(self, seconds: float) -> None:
        """Let time pass, looking after the connections twice a second as the real one does."""
        for _ in range(int(seconds * 2)):
            self.now += 0.5
            self.sweep()

    def sweep(self) -> None:
        """Look after all connections, without letting anything by meanwhile."""
        for _ in self.plane.sweep():
            pass
