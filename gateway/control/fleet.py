"""The fleet: the one owner of every instance's state and of the current snapshot.

Rules of this file:

* Everything happens on the event loop's thread and is done when the call returns: what is read afterwards is the new
  snapshot, whole. Nothing here waits.
* Documents and instances change together, as one generation. A change of state swaps in a new snapshot of the same
  generation.
* Each change is told once: to the listener as a fact, to the followers as the instance that routing now sees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from contracts.contract import Contract
from contracts.key import DocumentKey
from contracts.verdict import Verdict, VerdictKind, judge
from gateway.control import coverage
from gateway.control.board import Board, affected_models
from gateway.control.coverage import Coverage, coverage_changes, coverage_of
from gateway.control.documents import NO_DOCUMENTS, Documents
from gateway.control.roster import enrol, moved
from gateway.control.schedule import AT_ONCE, ProbeSchedule
from gateway.control.standing import InstanceKey, Probe, Tracked
from gateway.control.transitions import document_changes, instance_changes, instance_gone, instance_noted
from gateway.health import identity as identities
from gateway.health.identity import IdentityState
from gateway.health.liveness import (
    ExchangeOutcome,
    Liveness,
    LivenessSettings,
    LivenessState,
    observe_exchange,
    observe_probe,
)
from gateway.health.outliers import may_go_down
from gateway.health.probe_schedule import INTERVAL_S, next_probe_at
from gateway.routing.snapshot import Instance, Snapshot
from gateway.telemetry.changes import Change, Listener
from gateway.telemetry.metrics import Metrics
from inference_dna.observation import Observation


class Fleet:
    """Holds documents, instances and the snapshot; see the top of the file for its rules.

    Args:
        now: Monotonic clock.
        draw: Uniform in [0, 1).
        schedule: Learns when an instance wants probing; the prober empties it.
        metrics: Counts verdicts and knows the versions.
        listener: Is told each change once.
        liveness: Thresholds and times of liveness.
        probe_interval_s: Seconds between probes of an instance in good order.
    """

    def __init__(
        self,
        *,
        now: Callable[[], float],
        draw: Callable[[], float],
        schedule: ProbeSchedule,
        metrics: Metrics,
        listener: Listener,
        liveness: LivenessSettings | None = None,
        probe_interval_s: float = INTERVAL_S,
    ) -> None:
        self._now = now
        self._draw = draw
        self._schedule = schedule
        self._metrics = metrics
        self._listener = listener
        self._liveness = liveness or LivenessSettings()
        self._probe_interval_s = probe_interval_s
        self._documents = NO_DOCUMENTS
        self._board = Board()
        self._coverage: dict[str, Coverage] = {}
        self._noted: dict[InstanceKey, set[str]] = {}
        self._on_instance: Callable[[Instance], None] = _ignore_instance
        self._on_documents: Callable[[], None] = _ignore_documents

    # reading ------------------------------------------------------------------------------------------------------

    def current(self) -> Snapshot:
        """Give the snapshot in force."""
        return self._board.snapshot

    @property
    def documents(self) -> Documents:
        """The documents and their states."""
        return self._documents

    @property
    def tracked(self) -> Mapping[InstanceKey, Tracked]:
        """Every instance with what is known of it, as it changes: copy before waiting."""
        return MappingProxyType(self._board.tracked)

    def follow(self, *, on_instance: Callable[[Instance], None], on_documents: Callable[[], None]) -> None:
        """Call these after an instance, as routing sees it, changed, and after a new generation came into force."""
        self._on_instance = on_instance
        self._on_documents = on_documents

    # documents ----------------------------------------------------------------------------------------------------

    def apply(self, documents: Documents) -> None:
        """Put documents in force: with all their instances, as one new generation where they differ from before."""
        before = self._documents
        if documents.generation == before.generation:
            self._documents = documents
            self._tell(document_changes(before, documents))
            return
        affected = affected_models(before, documents)
        news = self._enrol(affected, documents.generation)
        changed = self._board.put_documents(documents, affected, now=self._now())
        self._documents = documents
        for model_id, contracts in affected.items():
            self._metrics.keep(model_id, {str(contract.version): _deprecated_at(contract) for contract in contracts})
        self._tell(document_changes(before, documents))
        self._tell(news)
        for model_id in affected:
            self._tell_coverage(model_id)
        for instance in changed:
            self._on_instance(instance)
        self._on_documents()

    def _enrol(self, affected: Mapping[str, list[Contract]], generation: int) -> list[Change]:
        """Take in the instances of these models' contracts and let go of those that left."""
        tracked, now = self._board.tracked, self._now()
        news: list[Change] = []
        leaving = {key for key in tracked if key[0] in affected}
        for contract in (contract for contracts in affected.values() for contract in contracts):
            for one in enrol(contract, tracked, now=now):
                leaving.discard(one.instance.key)
                news.extend(self._admit(one, generation))
        for key in leaving:
            self._schedule.drop(key)
            news.append(instance_gone(self._board.untrack(key), generation=generation))
            self._noted.pop(key, None)
        return news

    def _admit(self, one: Tracked, generation: int) -> Iterable[Change]:
        """Track an instance: a new one and one whose contract changed are probed at once."""
        key = one.instance.key
        before = self._board.tracked.get(key)
        self._board.track(key, one)
        if before is None:
            self._schedule.put(key, AT_ONCE)
            return []  # told when its first probe has come back
        if before is one:
            return []
        self._schedule.hasten(key, AT_ONCE)
        return instance_changes(before, one, source="documents", generation=generation)

    # observations -------------------------------------------------------------------------------------------------

    def observe_probe(self, key: InstanceKey, probe: Probe) -> None:
        """Take in a probe and set the moment of the next. An instance that left meanwhile is not brought back."""
        before = self._board.tracked.get(key)
        if before is None:
            return
        verdict = judge(before.contract, probe.observation)
        self._count(key, "probe", verdict)
        after = replace(
            before,
            identity=self._judged(before, probe.observation, verdict, started_at=probe.started_at),
            liveness=observe_probe(before.liveness, outcome=probe.outcome, now=self._now(), settings=self._liveness),
            probe=probe,
            stated=before.stated if verdict.kind is VerdictKind.ABSENT else probe,
        )
        self._change(key, before, after, source="probe")
        is_down = after.liveness.liveness is Liveness.DOWN
        self._schedule.put(key, self._next_probe_at(after), is_down=is_down)

    def locate(self, key: InstanceKey, address: str) -> None:
        """Take in the literal address of an instance; another one than before makes it another instance."""
        before = self._board.tracked.get(key)
        if before is not None and before.instance.address != address:
            self._change(key, before, moved(before, address, now=self._now()), source="name")

    def observe_response(
        self, instance: Instance, observation: Observation, verdict: Verdict, *, started_at: float
    ) -> None:
        """Take in the verdict on the head of an answer; in force when the call returns."""
        key = instance.key
        self._count(key, "response", verdict)
        before = self._board.tracked.get(key)
        if before is None or before.instance.address != instance.address:
            return
        if started_at < before.added_at:
            verdict = judge(before.contract, observation)  # it was judged by a contract that is no longer in force
        identity = self._judged(before, observation, verdict, started_at=started_at)
        if identity is not before.identity:
            self._change_and_hasten(key, before, replace(before, identity=identity), source="response")

    def observe_exchange(self, instance: Instance, outcome: ExchangeOutcome) -> None:
        """Take in how a request ended."""
        key = instance.key
        before = self._board.tracked.get(key)
        if before is None or before.instance.address != instance.address:
            return
        liveness = self._after_exchange(before, outcome)
        if liveness is not before.liveness:
            self._change_and_hasten(key, before, replace(before, liveness=liveness), source="exchange")

    def _judged(
        self, before: Tracked, observation: Observation, verdict: Verdict, *, started_at: float
    ) -> IdentityState:
        return identities.observe(
            before.identity,
            verdict,
            observation,
            strikes=before.contract.strikes,
            started_at=started_at,
            now=self._now(),
        )

    def _after_exchange(self, before: Tracked, outcome: ExchangeOutcome) -> LivenessState:
        head = self._board.census(before.contract).head if outcome in _COUNTED else None
        return observe_exchange(
            before.liveness,
            outcome=outcome,
            now=self._now(),
            settings=self._liveness,
            cap_allows=head is None or may_go_down(head.eligible, head.outliers, head.up),
            jitter=self._draw(),
        )

    # one instance changed -----------------------------------------------------------------------------------------

    def _change_and_hasten(self, key: InstanceKey, before: Tracked, after: Tracked, *, source: str) -> None:
        self._change(key, before, after, source=source)
        self._schedule.hasten(key, self._next_probe_at(after))

    def _change(self, key: InstanceKey, before: Tracked, after: Tracked, *, source: str) -> None:
        sign = self._board.census(before.contract).sign
        changed = self._board.put_instance(key, after, now=self._now())
        self._tell(instance_changes(before, after, source=source, generation=self._documents.generation))
        if self._board.census(after.contract).sign != sign or (changed and self._has_prefixes(key[0])):
            self._tell_coverage(key[0])
        for instance in changed:
            self._on_instance(instance)

    def _next_probe_at(self, one: Tracked) -> float:
        return next_probe_at(
            one.identity.identity,
            one.liveness.liveness,
            now=self._now(),
            draw=self._draw(),
            interval_s=self._probe_interval_s,
        )

    def _count(self, key: InstanceKey, source: str, verdict: Verdict) -> None:
        model_id, version, _ = key
        kind = "none" if verdict.kind is VerdictKind.ABSENT else verdict.kind.value
        self._metrics.identity_checked(model_id, version, source=source, verdict=kind, assurance=verdict.assurance)
        if verdict.notes and verdict.kind is VerdictKind.MATCH:
            self._note(key, source, verdict.notes)

    def _note(self, key: InstanceKey, source: str, notes: Iterable[str]) -> None:
        """Count what a match left to remark, and tell each remark once per instance."""
        one = self._board.tracked.get(key)
        if one is None:
            return
        noted = self._noted.setdefault(key, set())
        for note in notes:
            self._metrics.identity_noted(*key[:2], note)
            if note not in noted:
                noted.add(note)
                self._listener(instance_noted(one, note, source=source, generation=self._documents.generation))

    def _tell(self, changes: Iterable[Change]) -> None:
        for change in changes:
            self._listener(change)

    def _has_prefixes(self, model_id: str) -> bool:
        """Say whether a canary of the model takes only instances whose DNA begins so: then each of them counts."""
        route = self._documents.routes.get(DocumentKey("route", model_id))
        return route is not None and any(rule.dna_prefix is not None for rule in route.canary_rules)

    def _tell_coverage(self, model_id: str) -> None:
        """Tell which versions of a model lost or regained everything that may answer."""
        model = self._board.model(model_id)
        before, after = self._coverage.pop(model_id, coverage.NONE), coverage.NONE
        if model is not None:
            after = self._coverage[model_id] = coverage_of(model, self._board.census)
        self._tell(coverage_changes(model_id, before, after, model, generation=self._documents.generation))


_COUNTED = {ExchangeOutcome.FAILED, ExchangeOutcome.TIMEOUT}
"""Outcomes that can make an outlier, so that the cap has to be looked at."""


def _deprecated_at(contract: Contract) -> float | None:
    return contract.deprecated_at.timestamp() if contract.deprecated_at else None


def _ignore_instance(instance: Instance) -> None:
    del instance


def _ignore_documents() -> None:
    return
