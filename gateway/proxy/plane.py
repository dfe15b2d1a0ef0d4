"""The data plane: what every exchange shares. One per process; made once, handed to the protocol class."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Coroutine, Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Final, Protocol

from contracts.contract import Contract
from contracts.verdict import Verdict
from gateway.health.liveness import ExchangeOutcome
from gateway.health.retry_budget import BudgetSettings, RetryBudget, withdraw
from gateway.proxy.admission import Admission, VersionKey
from gateway.proxy.expiry import Expiry
from gateway.proxy.identity import AnswerJudge, Match
from gateway.proxy.limits import Limits
from gateway.proxy.peers import Peers
from gateway.proxy.pool import Address, Pool
from gateway.proxy.stamps import StampKey, http_date
from gateway.proxy.times import utc
from gateway.routing.snapshot import Instance, Snapshot, VersionView
from gateway.telemetry.access import AccessRecord
from gateway.telemetry.counts import VersionCounts
from gateway.telemetry.metrics import Metrics
from inference_dna.observation import Observation

if TYPE_CHECKING:
    from gateway.proxy.exchange import Exchange
    from gateway.proxy.protocol import DataProtocol


_SWEPT_AT_ONCE: Final = 256
"""Connections looked at before requests have their turn."""


class Report(Protocol):
    """Who learns what the data plane saw (the fleet). Calls take effect before they return."""

    def observe_response(
        self, instance: Instance, observation: Observation, verdict: Verdict, *, started_at: float
    ) -> None:
        """The head of an answer was judged."""

    def observe_exchange(self, instance: Instance, outcome: ExchangeOutcome) -> None:
        """A real request ended, as liveness sees it."""


class Traffic:
    """What the data plane keeps of one version.

    Attributes:
        key: Model id and printed version.
        counts: What is counted of it.
        judge: Judges answers by the newest contract seen.
        budget: Its repeats.
        stamps: Encoded already, by what was asked and why it was chosen (`stamps.py`).
        destinations: What is kept of its instances that were asked, by base URL.
    """

    __slots__ = ("budget", "counts", "destinations", "judge", "key", "stamps")

    def __init__(self, key: VersionKey, counts: VersionCounts, contract: Contract) -> None:
        self.key = key
        self.counts = counts
        self.judge = AnswerJudge(contract)
        self.budget = RetryBudget()
        self.stamps: dict[StampKey, bytes] = {}
        self.destinations: dict[str, Destination] = {}

    def in_flight(self, instance: Instance) -> int:
        """Requests an instance of the version has in flight."""
        known = self.destinations.get(instance.url)
        return known.in_flight if known is not None else 0

    def keep(self, instances: Iterable[Instance]) -> None:
        """Let go of all other instances; of these nothing is settled any more."""
        urls = {instance.url for instance in instances}
        for url, destination in list(self.destinations.items()):
            if url in urls:
                destination.settled = None
            else:
                self.destinations.pop(url).pool.close()


class Destination:
    """What the data plane keeps of one instance.

    Attributes:
        in_flight: How many requests it is answering.
        pool: Its connections.
        traffic: Of its version.
        base: What the path of every request to it begins with.
        host: What `Host` says there.
        address: Where the connections go.
        boot_id: Start of the worker that the connections belong to.
        settled: What the last answer stated, where it matched and nothing changed since: another one that states the
            same says nothing new of identity.
        is_failing: A request failed and none succeeded since: a success would say something new of liveness.
    """

    __slots__ = ("address", "base", "boot_id", "host", "in_flight", "is_failing", "pool", "settled", "traffic")

    def __init__(self, pool: Pool, traffic: Traffic, instance: Instance) -> None:
        self.in_flight = 0
        self.pool = pool
        self.traffic = traffic
        self.base = instance.base_path.encode("latin-1")
        self.host = instance.authority.encode("latin-1")
        self.address = instance.address
        self.boot_id = instance.boot_id
        self.settled: Match | None = None
        self.is_failing = False


class DataPlane:
    """Pools, queue, budgets and the callables the data plane was handed."""

    def __init__(
        self,
        *,
        snapshot: Callable[[], Snapshot],
        report: Report,
        metrics: Metrics,
        write_records: Callable[[list[AccessRecord]], None],
        limits: Limits,
        budget: BudgetSettings,
        slow_start_s: float,
        now: Callable[[], float],
        wall: Callable[[], float],
        draw: Callable[[], float],
        new_request_id: Callable[[], str],
        has_documents: Callable[[], bool],
        tls: ssl.SSLContext,
        defer: Callable[[Callable[[], None]], object],
    ) -> None:
        self.snapshot = snapshot
        self.report = report
        self.metrics = metrics
        self.write_records = write_records
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
        self.least_max_body = self.most_max_body = limits.max_body
        """Smallest and largest limit of a body that any version has."""
        self.peers = Peers(limits.trusted_proxies, limits.max_connections_per_address)
        self.buffered = 0
        self.draining = False
        self.date = http_date(wall())
        self._traffic: dict[VersionKey, Traffic] = {}
        self._expiry = Expiry()
        self._dials: set[asyncio.Task[None]] = set()
        self._tls = tls
        self._defer = defer
        self._ended: list[Exchange] = []

    # instances ----------------------------------------------------------------------------------------------------

    def traffic(self, key: VersionKey, contract: Contract) -> Traffic:
        """Find what is kept of a version."""
        known = self._traffic.get(key)
        if known is None:
            known = self._traffic[key] = Traffic(key, self.metrics.of(*key), contract)
        return known

    def destination(self, traffic: Traffic, instance: Instance) -> Destination:
        """Find what is kept of an instance; connections to an earlier start of it (`boot_id`) are not reused."""
        known = traffic.destinations.get(instance.url)
        if known is None or known.address != instance.address:
            if known is not None:
                known.pool.close()
            known = traffic.destinations[instance.url] = Destination(self._pool(instance), traffic, instance)
        elif known.boot_id != instance.boot_id:
            known.pool.drop_idle()
            known.boot_id = instance.boot_id
        return known

    def _pool(self, instance: Instance) -> Pool:
        address = Address(instance.address, instance.port, self._tls if instance.tls else None, instance.host)
        loop = asyncio.get_running_loop()
        return Pool(address, limits=self.limits, loop=loop, now=self.now, expiry=self._expiry)

    def in_flight(self, instance: Instance) -> int:
        """Requests an instance of any version has in flight."""
        traffic = self._traffic.get(instance.key[:2])
        return traffic.in_flight(instance) if traffic is not None else 0

    def occupy(self, destination: Destination) -> None:
        """Count a request into flight."""
        destination.in_flight += 1
        destination.traffic.counts.in_flight += 1

    def release(self, destination: Destination) -> None:
        """Count a request out of flight and let one that waits have the room."""
        destination.in_flight -= 1
        traffic = destination.traffic
        traffic.counts.in_flight -= 1
        if not self.admission.is_empty(traffic.key):
            self.admission.freed(traffic.key, now=self.now())

    def may_repeat(self, traffic: Traffic) -> bool:
        """Take a repeat out of a version's budget; say no where it is spent."""
        budget = withdraw(traffic.budget, in_flight=traffic.counts.in_flight, now=self.now(), settings=self._budget)
        if budget is None:
            traffic.counts.budget_exhausted += 1
            return False
        traffic.budget = budget
        return True

    def instance_changed(self, instance: Instance) -> None:
        """The state of one instance changed: close what it must not get, let waiting requests of its version look."""
        traffic = self._traffic.get(instance.key[:2])
        destination = traffic.destinations.get(instance.url) if traffic is not None else None
        if destination is not None:
            destination.settled = None
            if instance.refusal is not None:
                destination.pool.drop_idle()
                if instance.refusal.step == "ejected":
                    self._cut_answers_of(instance)
        self.admission.recheck(instance.key[:2])

    def documents_changed(self, models: AbstractSet[str]) -> None:
        """Another snapshot of these models is in force: let go of what left, let their waiting requests look."""
        known = self.snapshot().models
        touched = models & {model_id for model_id, _ in self._traffic}
        views = {view.key: view for model_id in touched if model_id in known for view in known[model_id].ranked}
        for key in [key for key in self._traffic if key[0] in touched]:
            if key in views:
                self._traffic[key].keep(views[key].instances)
            else:
                self._traffic.pop(key).keep(())
        stated = {limit for model in known.values() for limit in model.max_bodies}
        limits = [limit or self.limits.max_body for limit in stated] + [self.limits.max_body]
        self.least_max_body, self.most_max_body = min(limits), max(limits)
        for version in self.admission.versions():
            if version[0] in models:
                self.admission.recheck(version)

    def _cut_answers_of(self, instance: Instance) -> None:
        """End the answers an ejected instance has begun: what it writes from now on is of another identity."""
        for exchange in [known for known in self.exchanges if known.is_answered_by(instance)]:
            exchange.identity_changed(str(instance.refusal))

    # the end of an exchange ----------------------------------------------------------------------------------------

    def ended(self, exchange: Exchange) -> None:
        """Account for an exchange soon: not before the bytes it wrote have left, and together with others."""
        self._ended.append(exchange)
        if len(self._ended) == 1:
            self._defer(self.account)

    def account(self) -> None:
        """Count the exchanges that ended and write their records."""
        ended, self._ended = self._ended, []
        if ended:
            at = utc(self.wall())
            self.write_records([exchange.account(at) for exchange in ended])

    # work beside requests -----------------------------------------------------------------------------------------

    def dial(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a dial; its task is kept until it is done. The only task of the data plane."""
        task = asyncio.get_running_loop().create_task(work)
        self._dials.add(task)
        task.add_done_callback(self._dials.discard)

    def sweep(self) -> Iterator[None]:
        """Enforce every deadline; gone through twice a second instead of a timer per request.

        Ten thousand connections would hold requests up for a millisecond and more: it stops on its way, to let them by.
        """
        now = self.now()
        self.date = http_date(self.wall())
        self.admission.expire(now)
        self._expiry.sweep(now)
        for number, exchange in enumerate(list(self.exchanges), 1):
            if exchange in self.exchanges:  # it may have ended meanwhile
                exchange.check(now)
            if not number % _SWEPT_AT_ONCE:
                yield
        for number, connection in enumerate(list(self.connections), 1):
            if connection in self.connections:
                connection.check(now)
            if not number % _SWEPT_AT_ONCE:
                yield

    def ready(self) -> bool:
        """Say whether clients should be sent here."""
        return self._has_documents() and not self.draining

    def is_busy(self) -> bool:
        """Requests are in flight or being read, or a client has yet to take the rest of an answer."""
        return bool(self.exchanges) or any(each.is_reading or each.is_owed for each in self.connections)

    def capacity(self, view: VersionView) -> int:
        """Room of a version's ready instances together."""
        return sum(instance.max_in_flight for instance in view.ready)

    def close(self) -> None:
        """Cut what is still open; whoever is owed the rest of an answer must not take what came for all of it."""
        for connection in [each for each in self.connections if each.is_owed]:
            connection.cut(reset=True)
        for connection in [each for each in self.connections if each.is_reading]:
            connection.refuse_for_shutdown()
        for exchange in list(self.exchanges):
            exchange.cut_for_shutdown()
        for connection in list(self.connections):
            connection.close()
        self.account()
        for traffic in self._traffic.values():
            traffic.keep(())
