"""What routing sees: every instance with its state, and the snapshot made of them.

A change of one instance rebuilds its version and its model; all other models are shared with the snapshot before. Both
are made when somebody asks: a thousand changes before the next request cost one rebuild, not a thousand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from contracts.contract import Contract
from contracts.version import Version
from gateway.control.catalogue import VersionKey, version_key
from gateway.control.census import Census
from gateway.control.draft import Draft
from gateway.control.standing import InstanceKey, Tracked, shown
from gateway.routing.snapshot import EMPTY, Instance, ModelView, Snapshot, VersionView
from gateway.routing.views import assemble_model, assemble_version


class Board:
    """Holds instances and snapshot; only the fleet writes to it."""

    def __init__(self) -> None:
        self._tracked: dict[InstanceKey, Tracked] = {}
        self._census: dict[VersionKey, Census] = {}
        self._instances: dict[VersionKey, dict[str, Instance]] = {}  # by base URL, in the order people see them
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

    def put_instance(self, key: InstanceKey, one: Tracked, *, now: float) -> list[Instance]:
        """Put a state in force; give the instances that routing sees differently now."""
        panicked = self.census(one.contract).head.panic
        self._track(one)
        panics = self.census(one.contract).head.panic
        # Only where panic begins or ends does the state of one instance change what routing sees of its siblings.
        looked_at = [one] if panics is panicked else self.siblings(one.contract)
        seen = [shown(each, panic=panics, now=now) for each in looked_at]
        changed = [after for before, after in zip(looked_at, seen, strict=True) if after is not before]
        for after in changed:
            self._track(after)
        if changed:
            self._stale[key[:2]] = one.contract
            self._snapshot = None
        return [after.instance for after in changed]

    def adopt(self, draft: Draft, models: Iterable[str], *, generation: int) -> list[Tracked]:
        """Put drafted models in force, all at once; give the instances that left with what was there before.

        Args:
            draft: What is to be shown; nothing of it may be overtaken.
            models: All that were drafted; those without a view leave.
            generation: Of the documents that are in force now.
        """
        left = [one for model_id in models for one in self._leaving(model_id, draft)]
        self._models |= draft.models
        self._tracked |= draft.tracked
        self._census |= draft.census
        self._instances |= draft.instances
        for names in [names for names in self._stale if names not in self._instances or names in draft.instances]:
            del self._stale[names]
        self._generation, self._snapshot = generation, None
        return left

    def _leaving(self, model_id: str, draft: Draft) -> Iterator[Tracked]:
        """Let go of a model as it was; give the instances that it will not have any more."""
        before = self._models.pop(model_id, None)
        for view in before.ranked if before is not None else ():
            if view.key not in draft.instances:
                del self._census[view.key], self._instances[view.key]
            for instance in view.instances:
                if instance.key not in draft.tracked:
                    yield self._tracked.pop(instance.key)

    def siblings(self, contract: Contract) -> list[Tracked]:
        """Give the instances of a version, in their order."""
        names = version_key(contract)
        return [one for url in self._instances.get(names, ()) if (one := self._tracked.get((*names, url))) is not None]

    def _track(self, one: Tracked) -> None:
        """Take in an instance, or a new state of it."""
        key = one.instance.key
        census = self._census.setdefault(key[:2], Census())
        before = self._tracked.get(key)
        if before is not None:
            census.remove(before)
        self._tracked[key] = one
        census.add(one)
        self._instances[key[:2]][key[2]] = one.instance

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
        return assemble_version(contract, [*self._instances.get(version_key(contract), {}).values()], tied=tied)
