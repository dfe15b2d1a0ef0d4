"""What routing sees: every instance with its state, and the snapshot made of them.

A change of one instance rebuilds its version and its model; all other models are shared with the snapshot before. Both
are made when somebody asks: a thousand changes before the next request cost one rebuild, not a thousand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from contracts.contract import Contract
from contracts.key import DocumentKey
from contracts.version import Version
from gateway.control.catalogue import VersionKey, version_key
from gateway.control.census import Census
from gateway.control.documents import Document, Documents
from gateway.control.standing import InstanceKey, Tracked, stand
from gateway.routing.snapshot import EMPTY, Instance, ModelView, Snapshot, VersionView
from gateway.routing.views import assemble_model, assemble_version


class Board:
    """Holds instances and snapshot; only the fleet writes to it."""

    def __init__(self) -> None:
        self._tracked: dict[InstanceKey, Tracked] = {}
        self._census: dict[VersionKey, Census] = {}
        self._urls: dict[VersionKey, tuple[str, ...]] = {}  # of a version's instances, in the order people see them
        self._models: dict[str, ModelView] = {}
        self._stale: dict[VersionKey, Contract] = {}
        self._generation = 0
        self._snapshot: Snapshot | None = EMPTY

    # reading ------------------------------------------------------------------------------------------------------

    @property
    def tracked(self) -> Mapping[InstanceKey, Tracked]:
        """Every instance with what is known of it."""
        return self._tracked

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot of this moment; the same object until something changes."""
        if self._snapshot is None:
            self._refresh()
            self._snapshot = Snapshot(self._generation, MappingProxyType(dict(self._models)))
        return self._snapshot

    def model(self, model_id: str) -> ModelView | None:
        """Give one model as routing sees it."""
        self._refresh()
        return self._models.get(model_id)

    def census(self, contract: Contract) -> Census:
        """Give the counts of a version."""
        return self._census.get(version_key(contract)) or Census()

    # instances ----------------------------------------------------------------------------------------------------

    def enrol(self, contract: Contract, ones: Iterable[Tracked]) -> None:
        """Take in which instances a version has, without showing them to routing yet."""
        self._urls[version_key(contract)] = tuple(one.instance.url for one in ones)

    def track(self, key: InstanceKey, one: Tracked) -> None:
        """Take in an instance or a new state of it, without showing it to routing yet."""
        census = self._census.setdefault(key[:2], Census())
        before = self._tracked.get(key)
        if before is not None:
            census.remove(before)
        self._tracked[key] = one
        census.add(one)

    def untrack(self, key: InstanceKey) -> Tracked:
        """Let go of an instance."""
        one = self._tracked.pop(key)
        self._census[key[:2]].remove(one)
        return one

    def put_instance(self, key: InstanceKey, one: Tracked, *, now: float) -> list[Instance]:
        """Put a state in force; give the instances that routing sees differently now."""
        panicked = self.census(one.contract).head.panic
        self.track(key, one)
        panics = self.census(one.contract).head.panic
        # Only where panic begins or ends does the state of one instance change what routing sees of its siblings.
        looked_at = [one] if panics is panicked else self.siblings(one.contract)
        changed = self._show(looked_at, panic=panics, now=now)
        if changed:
            self._stale[key[:2]] = one.contract
            self._snapshot = None
        return changed

    def put_documents(
        self, documents: Documents, affected: Mapping[str, Iterable[Contract]], *, now: float
    ) -> list[Instance]:
        """Put these models in force, all at once; their instances are tracked already."""
        all_changed = []
        for gone in [key for key in self._stale if key[0] in affected]:
            del self._stale[gone]  # all of its model is shown anew below, or left
        for model_id, contracts in affected.items():
            views = []
            for contract in contracts:
                siblings = self.siblings(contract)
                all_changed.extend(self._show(siblings, panic=self.census(contract).head.panic, now=now))
                views.append(self._view(contract, tied=_contract_key(contract) in documents.tied))
            self._models.pop(model_id, None)
            if views:
                self._models[model_id] = assemble_model(model_id, views, documents.routes.get(_route_key(model_id)))
        self._forget_versions(affected)
        self._generation, self._snapshot = documents.generation, None
        return all_changed

    def _forget_versions(self, affected: Mapping[str, Iterable[Contract]]) -> None:
        """Forget the versions that these models have no more."""
        kept = {version_key(contract) for contracts in affected.values() for contract in contracts}
        for left in [key for key in self._census if key[0] in affected and key not in kept]:
            del self._census[left]
        for left in [key for key in self._urls if key[0] in affected and key not in kept]:
            del self._urls[left]

    def siblings(self, contract: Contract) -> list[Tracked]:
        """Give the instances of a version, in their order."""
        names = version_key(contract)
        return [one for url in self._urls.get(names, ()) if (one := self._tracked.get((*names, url))) is not None]

    def _show(self, ones: Iterable[Tracked], *, panic: bool, now: float) -> list[Instance]:
        """Show instances to routing; give those that look different now."""
        changed = []
        for one in ones:
            seen = stand(one, panic=panic, now=now)
            if seen is not one.instance:
                self.track(seen.key, replace(one, instance=seen))
                changed.append(seen)
        return changed

    def _refresh(self) -> None:
        """Make the views of versions whose instances changed, each once, however many changes there were."""
        stale, self._stale = self._stale, {}
        by_model: dict[str, dict[Version, VersionView]] = {}
        for (model_id, _), contract in stale.items():
            tied = self._models[model_id].versions[contract.version].tied
            by_model.setdefault(model_id, {})[contract.version] = self._view(contract, tied=tied)
        for model_id, fresh in by_model.items():
            model = self._models[model_id]
            views = [fresh.get(view.version, view) for view in model.ranked]
            self._models[model_id] = assemble_model(model_id, views, model.route)

    def _view(self, contract: Contract, *, tied: bool) -> VersionView:
        return assemble_version(contract, [one.instance for one in self.siblings(contract)], tied=tied)


def _contract_key(contract: Contract) -> DocumentKey:
    return DocumentKey("contract", contract.model_id, contract.version)


def _route_key(model_id: str) -> DocumentKey:
    return DocumentKey("route", model_id)


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
