"""The fleet: the one owner of every instance's state and of the current snapshot.

Rules of this file:

* What is observed of an instance is in force when the call returns: what is read afterwards is the new snapshot, whole.
* Documents and the instances they name change together, as one generation. A change of state, or of what the catalogue
  lists, swaps in a new snapshot of the same generation.
* Thousands of documents are worked out in a thread or in turns with requests, beside what serves (`plan`, `draft`), put
  in force by one step, and told of in turns again. Whoever reads in between sees the old snapshot, whole.
* Each change is told once: to the listener as a fact, to the followers as the instance that routing now sees.

Which instances there are is `enlisted`; which of them are probed here, and when, is `duty`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from types import MappingProxyType

from contracts.verdict import Verdict, VerdictKind, judge
from gateway.control.board import Board
from gateway.control.catalogue import Choice
from gateway.control.coverage import Covered
from gateway.control.documents import Documents
from gateway.control.draft import Draft
from gateway.control.duty import Duty
from gateway.control.enlisted import Enlisted
from gateway.control.plan import Plan, plan_documents, plan_listings
from gateway.control.remarks import Remarks
from gateway.control.roster import heard, moved
from gateway.control.schedule import ProbeSchedule
from gateway.control.standing import InstanceKey, Probe, Tracked, like_before
from gateway.control.transitions import instance_changes
from gateway.control.turns import in_turns
from gateway.health import identity as identities
from gateway.health.identity import IdentityState
from gateway.health.liveness import (
    ExchangeOutcome,
    LivenessSettings,
    LivenessState,
    observe_exchange,
    observe_probe,
)
from gateway.health.outliers import may_go_down
from gateway.health.probe_schedule import INTERVAL_S
from gateway.routing.snapshot import Instance, Snapshot
from gateway.sharing import hearsay as others
from gateway.sharing.sighting import Sighting
from gateway.sources.listing import Listing
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
        has_catalogue: Listings of services will come (`enlist`); until a service's has, nothing is missed there.
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
        has_catalogue: bool = False,
    ) -> None:
        self._now = now
        self._draw = draw
        self._listener = listener
        self._liveness = liveness or LivenessSettings()
        self._board = Board()
        self._duty = Duty(now=now, draw=draw, schedule=schedule, interval_s=probe_interval_s)
        self._remarks = Remarks(metrics, listener, lambda: self._generation)
        self._enlisted = Enlisted(
            board=self._board,
            duty=self._duty,
            remarks=self._remarks,
            metrics=metrics,
            now=now,
            has_catalogue=has_catalogue,
        )
        self._covered = Covered(self._board.model, self._board.census, self._enlisted.is_awaited, listener)
        self._on_seen: Callable[[InstanceKey, Tracked, Observation], None] = _ignore_seen
        self._on_swap: Callable[[AbstractSet[str]], None] = _ignore_swap
        self._on_instance: Callable[[Instance], None] = _ignore_instance
        self._on_documents: Callable[[], None] = _ignore_documents
        self._intake = asyncio.Lock()

    # reading ------------------------------------------------------------------------------------------------------

    def current(self) -> Snapshot:
        """Give the snapshot in force."""
        return self._board.snapshot

    @property
    def documents(self) -> Documents:
        """The documents and their states."""
        return self._enlisted.documents

    @property
    def choice(self) -> Choice:
        """What the catalogue lists, and which instances that gives."""
        return self._enlisted.choice

    @property
    def tracked(self) -> Mapping[InstanceKey, Tracked]:
        """Every instance with what is known of it, as it changes: copy before waiting."""
        return MappingProxyType(self._board.tracked)

    def follow(
        self,
        *,
        on_swap: Callable[[AbstractSet[str]], None],
        on_instance: Callable[[Instance], None],
        on_documents: Callable[[], None],
    ) -> None:
        """Have these called.

        Args:
            on_swap: With the models that changed, in the very step in which documents or listings come into force.
            on_instance: After an instance, as routing sees it, changed.
            on_documents: After documents or instances came or went and all of it was told.
        """
        self._on_swap, self._on_instance, self._on_documents = on_swap, on_instance, on_documents

    # documents ----------------------------------------------------------------------------------------------------

    async def apply(self, documents: Documents) -> None:
        """Put documents in force: with all their instances, as one new generation where they differ from before."""
        async with self._intake:
            await self._take_in(await asyncio.to_thread(plan_documents, self.documents, documents, self.choice))

    async def enlist(self, listings: Mapping[str, Listing]) -> None:
        """Take in what the catalogue lists: the instances it gives come and go within the generation in force."""
        async with self._intake:
            await self._take_in(await asyncio.to_thread(plan_listings, self.documents, self.choice, listings))

    async def _take_in(self, plan: Plan) -> None:
        """Put a plan in force, and tell what that changes."""
        draft = await self._enlisted.draft(plan)
        left = self._enlisted.put_in_force(plan, draft)
        if plan.is_swap:
            self._on_swap(plan.affected.keys())
        steps = self._steps_after(plan, draft, left)
        try:
            async for _ in in_turns(steps):
                pass
        finally:
            deque(steps, maxlen=0)  # who is cancelled in the middle must not leave an instance that nobody probes

    def _steps_after(self, plan: Plan, draft: Draft, left: Iterable[Tracked]) -> Iterator[None]:
        """Do what a swap asks for, a little at each step: what requests feel first, then what is told."""
        for instance in draft.changed.values():
            self._on_instance(instance)
            yield
        for change in plan.changes:
            self._listener(change)
            yield
        for one in left:
            self._listener(self._enlisted.departed(plan, one))
            yield
        for key, before in draft.renewed.items():
            self._tell(self._enlisted.arrived(plan, before, draft.tracked[key]))
            yield
        for model_id in plan.affected:
            self._covered.look(model_id, generation=self._generation)
            yield
        if plan.is_swap:
            self._on_documents()

    # observations -------------------------------------------------------------------------------------------------

    def observe_probe(self, key: InstanceKey, probe: Probe) -> None:
        """Take in a probe and set the moment of the next. An instance that left meanwhile is not brought back."""
        before = self._board.tracked.get(key)
        if before is None:
            return
        probe = like_before(probe, before.stated)
        verdict = judge(before.contract, probe.observation)
        self._remarks.take(key, before, verdict, source="probe")
        identity = self._judged(before, probe.observation, verdict, started_at=probe.started_at)
        after = replace(
            before,
            identity=identity,
            hearsay=others.saw(before.hearsay, verdict, identity.identity),
            liveness=observe_probe(
                before.liveness, outcome=probe.outcome, now=self._now(), settings=self._settings(before)
            ),
            probe=probe,
            stated=before.stated if verdict.kind is VerdictKind.ABSENT else probe,
        )
        self._change(key, before, after, source="probe")
        self._tell_others(before, after, probe.observation)
        self._duty.probed(after)

    def locate(self, key: InstanceKey, address: str) -> None:
        """Take in the literal address of an instance; another one than before makes it another instance."""
        before = self._board.tracked.get(key)
        if before is not None and before.instance.address != address:
            self._change(key, before, moved(before, address), source="name")

    def observe_response(
        self, instance: Instance, observation: Observation, verdict: Verdict, *, started_at: float
    ) -> None:
        """Take in the verdict on the head of an answer; in force when the call returns."""
        key = instance.key
        before = self._board.tracked.get(key)
        self._remarks.take(key, before, verdict, source="response")
        if before is None or before.instance.address != instance.address:
            return
        if started_at < self._enlisted.since:
            verdict = judge(before.contract, observation)  # the contract it was judged by may be in force no longer
        identity = self._judged(before, observation, verdict, started_at=started_at)
        if identity is not before.identity:
            hearsay = others.saw(before.hearsay, verdict, identity.identity)
            after = replace(before, identity=identity, hearsay=hearsay)
            self._change_and_hasten(key, before, after, source="response")
            self._tell_others(before, after, observation)

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

    def _settings(self, one: Tracked) -> LivenessSettings:
        """Where the catalogue doubts an instance, one failing probe is proof enough; one that passes outweighs it."""
        return replace(self._liveness, fall=1) if one.listed.is_doubted else self._liveness

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

    # verdicts shared between gateways -----------------------------------------------------------------------------

    def share(
        self,
        *,
        is_mine: Callable[[InstanceKey], bool],
        on_seen: Callable[[InstanceKey, Tracked, Observation], None],
    ) -> None:
        """Leave the instances that are not `is_mine` to other gateways; `on_seen` is told what they should hear."""
        self._duty.share(is_mine)
        self._on_seen = on_seen

    def redivide(self) -> None:
        """Take up and lay down probing after `is_mine` gives other answers than before."""
        self._duty.redivide(self._board.tracked.values())

    def hear(self, told: Sighting, *, by: str) -> None:
        """Take in what another gateway saw of an instance; in force when the call returns."""
        before = self._board.tracked.get(told.key)
        if before is None:
            return
        after = heard(before, told, by=by, now=self._now())
        if after is not before:
            self._change(told.key, before, after, source="gateway")
            self._duty.heard(after)

    def unhear(self, key: InstanceKey, *, by: str) -> None:
        """Take in that another gateway left, or does not tell its doubt any more: we look ourselves."""
        before = self._board.tracked.get(key)
        if before is None or by not in before.hearsay.doubters:
            return
        after = replace(before, hearsay=others.withdraw(before.hearsay, by))
        self._change(key, before, after, source="gateway")
        self._duty.heard(after)

    def _tell_others(self, before: Tracked, after: Tracked, observation: Observation) -> None:
        is_news = before.identity.identity is not after.identity.identity
        if is_news or before.hearsay.here is not after.hearsay.here:
            self._on_seen(after.instance.key, after, observation)

    # one instance changed -----------------------------------------------------------------------------------------

    def _change_and_hasten(self, key: InstanceKey, before: Tracked, after: Tracked, *, source: str) -> None:
        self._change(key, before, after, source=source)
        self._duty.changed(after)

    def _change(self, key: InstanceKey, before: Tracked, after: Tracked, *, source: str) -> None:
        sign = self._board.census(before.contract).sign
        changed = self._board.put_instance(key, after, now=self._now())
        self._tell(instance_changes(before, after, source=source, generation=self._generation))
        if self._board.census(after.contract).sign != sign or (changed and self._enlisted.has_prefixes(key[0])):
            self._covered.look(key[0], generation=self._generation)
        for instance in changed:
            self._on_instance(instance)

    def _tell(self, changes: Iterable[Change]) -> None:
        for change in changes:
            self._listener(change)

    @property
    def _generation(self) -> int:
        return self._enlisted.documents.generation


_COUNTED = {ExchangeOutcome.FAILED, ExchangeOutcome.TIMEOUT}
"""Outcomes that can make an outlier, so that the cap has to be looked at."""


def _ignore_seen(key: InstanceKey, one: Tracked, observation: Observation) -> None:
    del key, one, observation


def _ignore_swap(models: AbstractSet[str]) -> None:
    del models


def _ignore_instance(instance: Instance) -> None:
    del instance


def _ignore_documents() -> None:
    return
