"""What routing sees: every instance with its state, and the snapshot made of them.

A change of one instance rebuilds its version and its model; all other models are shared with the snapshot before. The
snapshot itself is made when somebody asks: among ten thousand models, a thousand changes before the next request cost
one copy of their table, not a thousand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from contracts.contract import Contract
from contracts.key import DocumentKey
from gateway.control.documents import Documents
from gateway.control.standing import Head, InstanceKey, Tracked, head_count, stand
from gateway.routing.snapshot import EMPTY, Instance, ModelView, Snapshot, VersionView
from gateway.routing.views import assemble_model, assemble_version


class Board:
    """Holds instances and snapshot; only the fleet writes to it."""

    def __init__(self) -> None:
        self.tracked: dict[InstanceKey, Tracked] = {}
        self._models: dict[str, ModelView] = {}
        self._generation = 0
        self._snapshot: Snapshot | None = EMPTY

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot of this moment; the same object until something changes."""
        if self._snapshot is None:
            self._snapshot = Snapshot(self._generation, MappingProxyType(dict(self._models)))
        return self._snapshot

    def model(self, model_id: str) -> ModelView | None:
        """Give one model as routing sees it."""
        return self._models.get(model_id)

    def siblings(self, contract: Contract) -> list[Tracked]:
        """Give the instances of a version, in the contract's order."""
        names = (contract.model_id, str(contract.version))
        return [one for url in contract.instances if (one := self.tracked.get((*names, url))) is not None]

    def head(self, contract: Contract) -> Head:
        """Count the instances of a version."""
        return head_count(self.siblings(contract))

    def put_instance(self, key: InstanceKey, one: Tracked, *, now: float) -> list[Instance]:
        """Put a state in force; give the instances that routing sees differently now."""
        self.tracked[key] = one
        model = self._models[one.instance.model_id]
        view, changed = self._stand(one.contract, tied=model.versions[one.instance.version].tied, now=now)
        if changed:
            others = [other for other in model.ranked if other.version != view.version]
            self._models[model.model_id] = assemble_model(model.model_id, [*others, view], model.route)
            self._snapshot = None
        return changed

    def put_documents(
        self, documents: Documents, affected: Mapping[str, Iterable[Contract]], *, now: float
    ) -> list[Instance]:
        """Put the models that documents affect in force, all at once; `tracked` holds their instances already."""
        all_changed = []
        for model_id, contracts in affected.items():
            views = []
            for contract in contracts:
                tied = DocumentKey("contract", model_id, contract.version) in documents.tied
                view, changed = self._stand(contract, tied=tied, now=now)
                views.append(view)
                all_changed.extend(changed)
            self._models.pop(model_id, None)
            if views:
                self._models[model_id] = assemble_model(model_id, views, documents.routes.get(_route_key(model_id)))
        self._generation, self._snapshot = documents.generation, None
        return all_changed

    def _stand(self, contract: Contract, *, tied: bool, now: float) -> tuple[VersionView, list[Instance]]:
        """Show a version's instances to routing; say which of them changed."""
        siblings = self.siblings(contract)
        panic = head_count(siblings).panic
        instances, changed = [], []
        for one in siblings:
            seen = stand(one, panic=panic, now=now)
            instances.append(seen)
            if seen is not one.instance:
                self.tracked[seen.key] = replace(one, instance=seen)
                changed.append(seen)
        return assemble_version(contract, instances, tied=tied), changed


def _route_key(model_id: str) -> DocumentKey:
    return DocumentKey("route", model_id)


def affected_models(before: Documents, after: Documents) -> dict[str, list[Contract]]:
    """List the models of which anything changed, each with its contracts now; none left for one that is gone."""
    contracts, routes = before.contracts.keys() | after.contracts.keys(), before.routes.keys() | after.routes.keys()
    changed = {key for key in contracts if before.contracts.get(key) is not after.contracts.get(key)}
    changed |= {key for key in routes if before.routes.get(key) is not after.routes.get(key)}
    changed |= before.tied ^ after.tied
    affected: dict[str, list[Contract]] = {key.model_id: [] for key in changed}
    for key, contract in after.contracts.items():
        if key.model_id in affected:
            affected[key.model_id].append(contract)
    return affected
