"""The documents in force and what the catalogue lists, and with them which instances there are.

Documents and the instances they name come into force together, as one generation. What the catalogue lists comes and
goes within the generation in force.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from contracts.contract import Contract
from contracts.key import DocumentKey
from gateway.control.board import Board
from gateway.control.catalogue import NO_CHOICE, Choice
from gateway.control.documents import NO_DOCUMENTS
from gateway.control.draft import Draft
from gateway.control.duty import Duty
from gateway.control.plan import Plan
from gateway.control.remarks import Remarks
from gateway.control.roster import enrol
from gateway.control.standing import Tracked
from gateway.control.transitions import instance_changes, instance_gone
from gateway.control.turns import PER_TURN, in_turns
from gateway.telemetry.changes import Change
from gateway.telemetry.metrics import Metrics

_MOST_ROUNDS = 5
"""A model that changes faster than it can be drafted is drafted in the end while nothing else happens."""


class Enlisted:
    """Brings documents and listings into force on the board.

    Args:
        board: Every instance with its state, and the snapshot.
        duty: Learns which instances come and go.
        remarks: Forgets those that left.
        metrics: Knows the versions.
        now: Monotonic clock.
        has_catalogue: Listings of services will come; until a service's has, nothing is missed there.
    """

    def __init__(
        self,
        *,
        board: Board,
        duty: Duty,
        remarks: Remarks,
        metrics: Metrics,
        now: Callable[[], float],
        has_catalogue: bool,
    ) -> None:
        self._board = board
        self._duty = duty
        self._remarks = remarks
        self._metrics = metrics
        self._now = now
        self._has_catalogue = has_catalogue
        self.documents = NO_DOCUMENTS
        """The documents and their states."""
        self.choice: Choice = NO_CHOICE
        """What the catalogue lists, and which instances that gives."""
        self.since = float("-inf")
        """Monotonic second at which the contracts in force came into force."""

    def is_awaited(self, contract: Contract) -> bool:
        """Say whether the catalogue has still to say which instances a version has."""
        return self._has_catalogue and contract.service is not None and not self.choice.is_read(contract.service)

    def has_prefixes(self, model_id: str) -> bool:
        """Say whether a canary of the model takes only instances whose DNA begins so: then each of them counts."""
        route = self.documents.routes.get(DocumentKey("route", model_id))
        return route is not None and any(rule.dna_prefix is not None for rule in route.canary_rules)

    async def draft(self, plan: Plan) -> Draft:
        """Work out what the models of a plan will be, in turns with requests; nothing of it shows yet.

        When this returns the draft holds for this very moment: put it in force before anything else happens.
        """
        draft, waiting = Draft(self._board.tracked), list(plan.affected)
        for _ in range(_MOST_ROUNDS):
            if sum(map(plan.size, waiting)) < PER_TURN:
                break
            async for model_id in in_turns(waiting, size=plan.size):
                self._draft_model(draft, plan, model_id)
            waiting = draft.overtaken()
        for model_id in waiting:
            self._draft_model(draft, plan, model_id)
        return draft

    def put_in_force(self, plan: Plan, draft: Draft) -> list[Tracked]:
        """Show all that was drafted to routing, at once; give the instances that left."""
        if plan.documents.generation != self.documents.generation:
            self.since = self._now()
        self.documents, self.choice = plan.documents, plan.choice
        if not plan.is_swap:
            return []
        return self._board.adopt(draft, plan.affected, generation=plan.documents.generation)

    def departed(self, plan: Plan, one: Tracked) -> Change:
        """Forget an instance that left; give what has to be told of it."""
        self._duty.lay_down(one.instance.key)
        self._remarks.forget(one.instance.key)
        return instance_gone(one, source=plan.source, generation=plan.documents.generation)

    def arrived(self, plan: Plan, before: Tracked | None, after: Tracked) -> Iterable[Change]:
        """Have an instance probed that is new, or held to something else; give what has to be told of it."""
        if before is None:
            self._duty.take_up(after)
            return ()  # told when its first probe has come back
        self._duty.look_again(after)
        return instance_changes(before, after, source=plan.source, generation=plan.documents.generation)

    def _draft_model(self, draft: Draft, plan: Plan, model_id: str) -> None:
        board, now, contracts = self._board, self._now(), plan.affected[model_id]
        # Before it shows: the first request to a new version is counted as one of it.
        self._metrics.keep(model_id, {str(contract.version): _deprecated_at(contract) for contract in contracts})
        versions = [
            (
                contract,
                enrol(contract, board.tracked, choice=plan.choice, had=board.siblings(contract), now=now),
                plan.is_tied(contract),
            )
            for contract in contracts
        ]
        draft.put(model_id, versions, route=plan.route(model_id), now=now)


def _deprecated_at(contract: Contract) -> float | None:
    return contract.deprecated_at.timestamp() if contract.deprecated_at else None
