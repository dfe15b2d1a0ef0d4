"""The documents in force and what the catalogue lists, and with them which instances there are.

Documents and the instances they name come into force together, as one generation. What the catalogue lists comes and
goes within the generation in force.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from contracts.contract import Contract
from contracts.key import DocumentKey
from gateway.control.board import Board, affected_models
from gateway.control.catalogue import NO_CHOICE, Choice, choose, models_listed_otherwise
from gateway.control.documents import NO_DOCUMENTS, Documents
from gateway.control.duty import Duty
from gateway.control.remarks import Remarks
from gateway.control.roster import enrol
from gateway.control.standing import Tracked
from gateway.control.transitions import catalogue_changes, document_changes, instance_changes, instance_gone
from gateway.routing.snapshot import Instance
from gateway.sources.listing import Listing
from gateway.telemetry.changes import Change, Listener
from gateway.telemetry.metrics import Metrics


class Enlisted:
    """Brings documents and listings into force on the board.

    Args:
        board: Every instance with its state, and the snapshot.
        duty: Learns which instances come and go.
        remarks: Forgets those that left.
        metrics: Knows the versions.
        listener: Is told each change once.
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
        listener: Listener,
        now: Callable[[], float],
        has_catalogue: bool,
    ) -> None:
        self._board = board
        self._duty = duty
        self._remarks = remarks
        self._metrics = metrics
        self._listener = listener
        self._now = now
        self._has_catalogue = has_catalogue
        self.documents = NO_DOCUMENTS
        """The documents and their states."""
        self.choice: Choice = NO_CHOICE
        """What the catalogue lists, and which instances that gives."""

    def is_awaited(self, contract: Contract) -> bool:
        """Say whether the catalogue has still to say which instances a version has."""
        return self._has_catalogue and contract.service is not None and not self.choice.is_read(contract.service)

    def has_prefixes(self, model_id: str) -> bool:
        """Say whether a canary of the model takes only instances whose DNA begins so: then each of them counts."""
        route = self.documents.routes.get(DocumentKey("route", model_id))
        return route is not None and any(rule.dna_prefix is not None for rule in route.canary_rules)

    def take_documents(self, documents: Documents) -> dict[str, list[Contract]]:
        """Take documents in; give the models that have to be put in force, each with its contracts."""
        before, self.documents = self.documents, documents
        affected = {} if documents.generation == before.generation else affected_models(before, documents)
        for model_id, contracts in affected.items():
            self._metrics.keep(model_id, {str(contract.version): _deprecated_at(contract) for contract in contracts})
        self._tell(document_changes(before, documents))
        if documents.generation != before.generation:
            self._choose(self.choice.listings)
        return affected

    def take_listings(self, listings: Mapping[str, Listing]) -> dict[str, list[Contract]]:
        """Take in what the catalogue lists; give the models of which instances came, went or changed."""
        before = self.choice
        self._choose(listings)
        return models_listed_otherwise(before, self.choice, self.documents.contracts.values())

    def put_in_force(self, affected: Mapping[str, list[Contract]], *, source: str) -> list[Instance]:
        """Show these models to routing, whole; give the instances that it sees differently now."""
        news = self._enrol(affected, source)
        changed = self._board.put_documents(self.documents, affected, now=self._now())
        self._tell(news)
        return changed

    def _choose(self, listings: Mapping[str, Listing]) -> None:
        """Place the registrations anew; the instances follow in `put_in_force`."""
        before, self.choice = self.choice, choose(self.documents.contracts.values(), listings, before=self.choice)
        self._tell(catalogue_changes(before, self.choice, generation=self.documents.generation))

    def _enrol(self, affected: Mapping[str, list[Contract]], source: str) -> list[Change]:
        """Take in the instances of these models' contracts and let go of those that left."""
        tracked, now = self._board.tracked, self._now()
        news: list[Change] = []
        leaving = {key for key in tracked if key[0] in affected}
        for contract in (contract for contracts in affected.values() for contract in contracts):
            ones = enrol(contract, tracked, choice=self.choice, had=self._board.siblings(contract), now=now)
            self._board.enrol(contract, ones)
            for one in ones:
                leaving.discard(one.instance.key)
                news.extend(self._admit(one, source))
        for key in leaving:
            self._duty.lay_down(key)
            self._remarks.forget(key)
            news.append(instance_gone(self._board.untrack(key), source=source, generation=self.documents.generation))
        return news

    def _admit(self, one: Tracked, source: str) -> Iterable[Change]:
        """Track an instance: a new one, and one whose contract or registration changed, are probed at once."""
        before = self._board.tracked.get(one.instance.key)
        self._board.track(one.instance.key, one)
        if before is None:
            self._duty.take_up(one)
            return []  # told when its first probe has come back
        if before is one:
            return []
        self._duty.look_again(one)
        return instance_changes(before, one, source=source, generation=self.documents.generation)

    def _tell(self, changes: Iterable[Change]) -> None:
        for change in changes:
            self._listener(change)


def _deprecated_at(contract: Contract) -> float | None:
    return contract.deprecated_at.timestamp() if contract.deprecated_at else None
