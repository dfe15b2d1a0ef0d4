"""Which versions of a model nobody can answer for, and which canaries give their share back.

Pure but for `Covered`, which remembers.

An instance that was never probed is not missed yet: at start everything is unverified for a moment, which is no news.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from contracts.contract import Contract
from contracts.terms import Status
from contracts.version import Version
from gateway.control.census import Census
from gateway.routing.filters import has_prefix
from gateway.routing.snapshot import CanarySlice, ModelView, VersionView
from gateway.telemetry.changes import Change, ChangeKind, Listener


@dataclass(frozen=True, slots=True)
class Coverage:
    """What of one model is amiss.

    Attributes:
        unserved: Active versions without a ready instance, each with the reasons.
        returned: Versions whose canary rule has no instance.
        panic: Versions that use outliers again.
    """

    unserved: dict[Version, str]
    returned: frozenset[Version]
    panic: frozenset[Version]


def _never(contract: Contract) -> bool:
    del contract
    return False


def coverage_of(
    model: ModelView, census_of: Callable[[Contract], Census], is_awaited: Callable[[Contract], bool] = _never
) -> Coverage:
    """Look at one model.

    Args:
        model: The model.
        census_of: Gives the counts of a version's instances.
        is_awaited: Says whether the catalogue has still to say which instances a version has.
    """
    census = {view.version: census_of(view.contract) for view in model.ranked}
    pending = {view.version for view in model.ranked if census[view.version].new or is_awaited(view.contract)}
    return Coverage(
        {view.version: _reasons(view) for view in model.ranked if _is_unserved(view) and view.version not in pending},
        frozenset(
            rule.version
            for rule in model.slices
            if rule.high > rule.low and rule.version not in pending and not _can_answer(model, rule)
        ),
        frozenset(version for version, counts in census.items() if counts.head.panic),
    )


def _is_unserved(view: VersionView) -> bool:
    return view.contract.status is Status.ACTIVE and not view.ready


def _can_answer(model: ModelView, rule: CanarySlice) -> bool:
    view = model.versions.get(rule.version)
    if view is None or view.contract.status is not Status.ACTIVE:
        return False
    return any(rule.dna_prefix is None or has_prefix(instance, rule.dna_prefix) for instance in view.ready)


def _reasons(view: VersionView) -> str:
    if not view.instances:
        service = view.contract.service
        return f"service {service} lists no instance of it" if service else "its contract has no instances"
    return ", ".join(f"{instance.id} {instance.refusal}" for instance in view.instances[:5])


NONE = Coverage({}, frozenset(), frozenset())


def coverage_changes(
    model_id: str, before: Coverage, after: Coverage, model: ModelView | None, *, generation: int
) -> Iterator[Change]:
    """Tell what changed; `model` is None where it left the documents."""

    def change(kind: ChangeKind, version: Version, reason: str = "") -> Change:
        return Change(kind, generation, model_id=model_id, version=str(version), reason=reason)

    for version in after.unserved.keys() - before.unserved.keys():
        yield change(ChangeKind.VERSION_UNSERVED, version, after.unserved[version])
    for version in before.unserved.keys() - after.unserved.keys():
        view = model.versions.get(version) if model else None
        is_served = view is not None and view.contract.status is Status.ACTIVE
        yield change(ChangeKind.VERSION_SERVED if is_served else ChangeKind.VERSION_WITHDRAWN, version)
    for version in after.returned - before.returned:
        yield change(
            ChangeKind.CANARY_RETURNED, version, "no instance may answer for it; its share goes to the default"
        )
    for version in before.returned - after.returned:
        yield change(ChangeKind.CANARY_SERVING, version)
    for version in after.panic - before.panic:
        yield change(
            ChangeKind.PANIC_BEGAN, version, "fewer than half of its instances are up; outliers are used again"
        )
    for version in before.panic - after.panic:
        yield change(ChangeKind.PANIC_ENDED, version)


class Covered:
    """Remembers what of each model was amiss, and tells what changed.

    Args:
        model: Gives a model as routing sees it; None where it left the documents.
        census_of: Gives the counts of a version's instances.
        is_awaited: Says whether the catalogue has still to say which instances a version has.
        listener: Is told each change once.
    """

    def __init__(
        self,
        model: Callable[[str], ModelView | None],
        census_of: Callable[[Contract], Census],
        is_awaited: Callable[[Contract], bool],
        listener: Listener,
    ) -> None:
        self._model = model
        self._census_of = census_of
        self._is_awaited = is_awaited
        self._listener = listener
        self._known: dict[str, Coverage] = {}

    def look(self, model_id: str, *, generation: int) -> None:
        """Tell which versions of a model lost or regained everything that may answer."""
        model = self._model(model_id)
        before, after = self._known.pop(model_id, NONE), NONE
        if model is not None:
            after = self._known[model_id] = coverage_of(model, self._census_of, self._is_awaited)
        for change in coverage_changes(model_id, before, after, model, generation=generation):
            self._listener(change)
