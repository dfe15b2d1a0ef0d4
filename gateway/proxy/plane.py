"""The data plane: what every exchange shares. One per process; made once, handed to the protocol class."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from contracts.contract import Contract
from contracts.verdict import Verdict
from gateway.health.liveness import ExchangeOutcome
from gateway.health.retry_budget import BudgetSettings, RetryBudget, withdraw
from gateway.proxy.admission import Admission, VersionKey
from gateway.proxy.identity import AnswerJudge, Runtime
from gateway.proxy.limits import Limits
from gateway.proxy.pool import Address, Pool
from gateway.proxy.stamps import http_date
from gateway.routing.snapshot import Instance, Snapshot, VersionView
from gateway.telemetry.access import AccessRecord
from inference_dna.observation import Observation

if TYPE_CHECKING:
    from gateway.proxy.exchange import Exchange
    from gateway.proxy.protocol import DataProtocol


class Report(Protocol):
    """Who learns what the data plane saw (the fleet). Calls take effect before they return."""

    def observe_response(
        self, instance: Instance, observation: Observation, verdict: Verdict, *, started_at: float
    ) -> None:
        """The head of an answer was judged."""

    def confirm_response(self, instance: Instance, verdict: Verdict) -> None:
        """An answer stated once more what the one before it stated, and matched."""

    def observe_exchange(self, instance: Instance, outcome: ExchangeOutcome) -> None:
        """A real request ended, as liveness sees it."""

    def canary_returned(self, model_id: str, version: str) -> None:
        """A canary had no verified instance: its request went to the default."""


class Tally(Protocol):
    """Who counts (the metrics)."""

    def finished(self, record: AccessRecord, *, upstream_s: float) -> None:
        """A request ended; `upstream_s` of its time was the worker's."""

    def started(self, model_id: str, version: str) -> None:
        """A request of a version went into flight."""

    def ended(self, model_id: str, version: str) -> None:
        """It came out of flight."""

    def upstream_error(self, model_id: str, version: str, kind: str) -> None:
        """An attempt failed."""

    def attempt(self, model_id: str, version: str) -> None:
        """An attempt was made."""

    def stale_reuse(self, model_id: str, version: str) -> None:
        """A kept connection was stale; the request went out once more on a fresh one."""

    def budget_exhausted(self, model_id: str, version: str) -> None:
        """A repeat was refused for want of budget."""

    def refused(self, kind: str) -> None:
        """A request was refused for its framing or a limit."""

    def trailers_dropped(self, count: int) -> None:
        """Trailers of a request were dropped."""

    def stream_failed(self, model_id: str, version: str, kind: str) -> None:
        """An answer was cut after its head."""

    def client_left(self, phase: str) -> None:
        """A client left before its answer was complete."""


@dataclass(slots=True)
class Destination:
    """What the data plane keeps of one instance.

    Attributes:
        pool: Its connections.
        traffic: Of its version.
        boot_id: Start of the worker that the connections belong to.
        settled: Runtime that the last answer stated, where it matched and nothing changed since: another one that
            states the same says nothing new of identity.
        is_failing: A request failed and none succeeded since: a success would say something new of liveness.
    """

    pool: Pool
    traffic: Traffic
    boot_id: str | None
    settled: Runtime | None = None
    is_failing: bool = False


@dataclass(slots=True)
class Traffic:
    """What the data plane keeps of one version.

    Attributes:
        key: Model id and printed version.
        judge: Judges answers by the newest contract seen.
        in_flight: Requests with its instances.
        budget: Its repeats.
    """

    key: VersionKey
    judge: AnswerJudge
    in_flight: int = 0
    budget: RetryBudget = field(default_factory=RetryBudget)


class DataPlane:
    """Pools, queue, budgets and the callables the data plane was handed."""

    def __init__(
        self,
        *,
        snapshot: Callable[[], Snapshot],
        report: Report,
        tally: Tally,
        record: Callable[[AccessRecord], None],
        limits: Limits,
        budget: BudgetSettings,
        slow_start_s: float,
        now: Callable[[], float],
        wall: Callable[[], float],
        draw: Callable[[], float],
        new_request_id: Callable[[], str],
        has_documents: Callable[[], bool],
    ) -> None:
        self.snapshot = snapshot
        self.report = report
        self.tally = tally
        self.record = record
        self.limits = limits
        self.now = now
        self.wall = wall
        self.draw = draw
        self.new_request_id = new_request_id
        self.slow_start_s = slow_start_s
        self._budget = budget
        self._has_documents = has_documents
        self.admission = Admission(floor=limits.admission_queue_floor, wait_s=limits.admission_wait_s)
        self.exchanges: set[Exchange] = set()
        self.connections: set[DataProtocol] = set()
        self.buffered = 0
        self.draining = False
        self.date = http_date(wall())
        self._destinations: dict[tuple[str, str, str], Destination] = {}
        self._traffic: dict[VersionKey, Traffic] = {}
        self._dials: set[asyncio.Task[None]] = set()
        self._tls: ssl.SSLContext | None = None

    # instances ----------------------------------------------------------------------------------------------------

    def destination(self, instance: Instance, contract: Contract) -> Destination:
        """Find what is kept of an instance; connections to an earlier start of it (`boot_id`) are not reused."""
        known = self._destinations.get(instance.key)
        if known is None:
            address = Address(instance.host, instance.port, self._tls_context() if instance.tls else None)
            pool = Pool(address, limits=self.limits, loop=asyncio.get_running_loop(), now=self.now)
            known = Destination(pool, self._traffic_of(instance.key[:2], contract), instance.boot_id)
            self._destinations[instance.key] = known
        elif known.boot_id != instance.boot_id:
            known.pool.drop_idle()
            known.boot_id = instance.boot_id
        return known

    def _traffic_of(self, key: VersionKey, contract: Contract) -> Traffic:
        traffic = self._traffic.get(key)
        if traffic is None:
            traffic = self._traffic[key] = Traffic(key, AnswerJudge(contract))
        return traffic

    def in_flight(self, instance: Instance) -> int:
        """Requests an instance has in flight."""
        known = self._destinations.get(instance.key)
        return known.pool.in_flight if known is not None else 0

    def occupy(self, destination: Destination) -> None:
        """Count a request into flight."""
        destination.pool.in_flight += 1
        destination.traffic.in_flight += 1
        self.tally.started(*destination.traffic.key)

    def release(self, destination: Destination) -> None:
        """Count a request out of flight and let one that waits have the room."""
        destination.pool.in_flight -= 1
        traffic = destination.traffic
        traffic.in_flight -= 1
        self.tally.ended(*traffic.key)
        self.admission.freed(traffic.key, now=self.now())

    def may_repeat(self, traffic: Traffic) -> bool:
        """Take a repeat out of a version's budget; say no where it is spent."""
        budget = withdraw(traffic.budget, in_flight=traffic.in_flight, now=self.now(), settings=self._budget)
        if budget is None:
            self.tally.budget_exhausted(*traffic.key)
            return False
        traffic.budget = budget
        return True

    def instance_changed(self, instance: Instance) -> None:
        """The state of one instance changed: close what it must not get, let waiting requests of its version look."""
        destination = self._destinations.get(instance.key)
        if destination is not None:
            destination.settled = None
            if instance.refusal is not None:
                destination.pool.drop_idle()
                if instance.refusal.step == "ejected":
                    self._cut_answers_of(instance)
        self.admission.recheck(instance.key[:2])

    def documents_changed(self) -> None:
        """A new generation is in force: let go of instances that left, let every waiting request look."""
        snapshot = self.snapshot()
        known = {i.key for model in snapshot.models.values() for view in model.ranked for i in view.instances}
        for gone in [key for key in self._destinations if key not in known]:
            self._destinations.pop(gone).pool.close()
        for destination in self._destinations.values():
            destination.settled = None
        for key in [key for key in self._traffic if key not in {known_key[:2] for known_key in known}]:
            del self._traffic[key]
        for version in self.admission.versions():
            self.admission.recheck(version)

    def _cut_answers_of(self, instance: Instance) -> None:
        """End the answers an ejected instance has begun: what it writes from now on is of another identity."""
        for exchange in [known for known in self.exchanges if known.is_answered_by(instance)]:
            exchange.identity_changed(str(instance.refusal))

    # work beside requests -----------------------------------------------------------------------------------------

    def dial(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a dial; its task is kept until it is done. The only task of the data plane."""
        task = asyncio.get_running_loop().create_task(work)
        self._dials.add(task)
        task.add_done_callback(self._dials.discard)

    def sweep(self) -> None:
        """Enforce every deadline; called twice a second instead of a timer per request."""
        now = self.now()
        self.date = http_date(self.wall())
        self.admission.expire(now)
        for exchange in list(self.exchanges):
            exchange.check(now)
        for connection in list(self.connections):
            connection.check(now)
        for destination in self._destinations.values():
            destination.pool.expire()

    def ready(self) -> bool:
        """Say whether clients should be sent here."""
        return self._has_documents() and not self.draining

    def is_busy(self) -> bool:
        """Requests are in flight or being read."""
        return bool(self.exchanges) or any(connection.is_reading for connection in self.connections)

    def capacity(self, view: VersionView) -> int:
        """Room of a version's ready instances together."""
        return sum(instance.max_in_flight for instance in view.ready)

    def close(self) -> None:
        """Cut what is still open."""
        for exchange in list(self.exchanges):
            exchange.cut_for_shutdown()
        for connection in list(self.connections):
            connection.close()
        for destination in self._destinations.values():
            destination.pool.close()

    def _tls_context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls
