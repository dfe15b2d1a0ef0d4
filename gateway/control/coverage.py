"""Which versions of a model nobody can answer for, and which canaries give their share back: pure.

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
from gateway.telemetry.changes import Change, ChangeKind


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


def coverage_of(model: ModelView, census_of: Callable[[Contract], Census]) -> Coverage:
    """Look at one model; `census_of` gives the counts of a version's instances."""
    census = {view.version: census_of(view.contract) for view in model.ranked}
    pending = {version for version, counts in census.items() if counts.new}
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
        return "its contract has no instances"
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
