"""What taking in documents, or listings of the catalogue, changes: pure, before anything of it is in force."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from contracts.contract import Contract
from contracts.key import DocumentKey
from contracts.route import Route
from gateway.control.catalogue import Choice, choose, models_listed_otherwise
from gateway.control.documents import Document, Documents
from gateway.control.transitions import catalogue_changes, document_changes
from gateway.sources.listing import Listing
from gateway.telemetry.changes import Change


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be in force.

    Attributes:
        documents: The documents and their states.
        choice: What the catalogue lists, and which instances that gives.
        affected: The models of which anything changes, each with its contracts then; none for one that leaves.
        changes: What has to be told of documents and catalogue.
        source: What brought it: `documents` or `catalogue`.
        is_swap: Requests will be decided by another snapshot than before.
    """

    documents: Documents
    choice: Choice
    affected: Mapping[str, list[Contract]]
    changes: tuple[Change, ...]
    source: str
    is_swap: bool

    def route(self, model_id: str) -> Route | None:
        """Give a model's route."""
        return self.documents.routes.get(DocumentKey("route", model_id))

    def is_tied(self, contract: Contract) -> bool:
        """Say whether neither of a version's builds came first."""
        return DocumentKey("contract", contract.model_id, contract.version) in self.documents.tied

    def size(self, model_id: str) -> int:
        """Count what has to be worked on of a model."""
        return max(len(self.affected[model_id]), 1)


def plan_documents(before: Documents, after: Documents, choice: Choice) -> Plan:
    """Plan to put documents in force, and to place anew what the catalogue lists."""
    told = tuple(document_changes(before, after))
    if after.generation == before.generation:
        return Plan(after, choice, {}, told, "documents", is_swap=False)
    chosen = choose(after.contracts.values(), choice.listings, before=choice)
    told += tuple(catalogue_changes(choice, chosen, generation=after.generation))
    return Plan(after, chosen, affected_models(before, after), told, "documents", is_swap=True)


def plan_listings(documents: Documents, before: Choice, listings: Mapping[str, Listing]) -> Plan:
    """Plan to take in what the catalogue lists now."""
    chosen = choose(documents.contracts.values(), listings, before=before)
    affected = models_listed_otherwise(before, chosen, documents.contracts.values())
    told = tuple(catalogue_changes(before, chosen, generation=documents.generation))
    return Plan(documents, chosen, affected, told, "catalogue", is_swap=bool(affected))


def affected_models(before: Documents, after: Documents) -> dict[str, list[Contract]]:
    """List the models of which anything changed, each with its contracts now; none left for one that is gone."""
    changed = {entry.place for entry in after.entries.values() if _is_changed(before.entries.get(entry.key), entry)}
    left = {before.entries[key].place for key in before.entries.keys() - after.entries.keys()}
    places = (*changed, *left, *(before.tied ^ after.tied))
    affected: dict[str, list[Contract]] = {place.model_id: [] for place in places if place is not None}
    for contract in after.contracts.values():
        if contract.model_id in affected:
            affected[contract.model_id].append(contract)
    return affected


def _is_changed(before: Document | None, after: Document) -> bool:
    """Say whether another state of a document serves than before."""
    return before is not after and (before.in_force if before else None) is not after.in_force
