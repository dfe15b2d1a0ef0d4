"""Models as they will be once a plan is in force, worked out beside those that serve: nothing of it shows.

`Board.adopt` puts all of it in force at once. Until then probes and requests go on changing instances that were drafted
already; `overtaken` finds them, and whoever drafts does those again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from contracts.contract import Contract
from contracts.route import Route
from gateway.control.catalogue import VersionKey, version_key
from gateway.control.census import Census
from gateway.control.standing import InstanceKey, Tracked, shown
from gateway.routing.snapshot import Instance, ModelView, VersionView
from gateway.routing.views import assemble_model, assemble_version


class Draft:
    """Some models, with all their versions and instances. Drafting one again replaces it.

    Args:
        before: Every instance as it is, at any moment.
    """

    def __init__(self, before: Mapping[InstanceKey, Tracked]) -> None:
        self._before = before
        self.models: dict[str, ModelView] = {}
        """As routing will see them; one without contracts has none."""
        self.tracked: dict[InstanceKey, Tracked] = {}
        """Their instances."""
        self.census: dict[VersionKey, Census] = {}
        """Their counts."""
        self.instances: dict[VersionKey, dict[str, Instance]] = {}
        """Of each version, by URL, in the order people see them."""
        self.made_from: dict[InstanceKey, Tracked | None] = {}
        """What each instance was when it was drafted; None where it is new."""
        self.renewed: dict[InstanceKey, Tracked | None] = {}
        """The same, of those alone that are new, or held to another contract or listed otherwise than before."""
        self.changed: dict[InstanceKey, Instance] = {}
        """Those that routing will see differently."""

    def put(
        self,
        model_id: str,
        versions: Iterable[tuple[Contract, Iterable[Tracked], bool]],
        *,
        route: Route | None,
        now: float,
    ) -> None:
        """Draft a model.

        Args:
            model_id: The model.
            versions: Each contract with its instances, and whether it is tied.
            route: How its requests are spread.
            now: Monotonic second.
        """
        views = [self._version(contract, tuple(ones), is_tied, now) for contract, ones, is_tied in versions]
        if views:
            self.models[model_id] = assemble_model(model_id, views, route)

    def overtaken(self) -> list[str]:
        """List the models of which an instance has changed since it was drafted."""
        before = self._before
        return list(dict.fromkeys(key[0] for key, one in self.made_from.items() if before.get(key) is not one))

    def _version(self, contract: Contract, ones: tuple[Tracked, ...], is_tied: bool, now: float) -> VersionView:
        panic = Census.of(ones).head.panic
        seen = [shown(one, panic=panic, now=now) for one in ones]
        for one, after in zip(ones, seen, strict=True):
            self._note(one, after)
        names = version_key(contract)
        self.census[names] = Census.of(seen)
        self.instances[names] = {one.instance.url: one.instance for one in seen}
        return assemble_version(contract, [*self.instances[names].values()], tied=is_tied)

    def _note(self, enrolled: Tracked, after: Tracked) -> None:
        key = after.instance.key
        before = self._before.get(key)
        self.tracked[key], self.made_from[key] = after, before
        if enrolled is not before:
            self.renewed[key] = before
        if after is not enrolled:
            self.changed[key] = after.instance
        else:
            self.changed.pop(key, None)
