"""Why nothing can answer now: status, code, reasons and the sentence people read (clients.md section 4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter

from contracts.terms import Status
from contracts.version import Version
from gateway.routing.decision import NoInstance, NotRouted, Rejection, Resolution
from gateway.routing.filters import Terms, why_not
from gateway.routing.snapshot import Instance, Refusal, VersionView

NAMED = 5
"""So many instances of a version a sentence names; `rejected` has all of them."""

_LEAVING = frozenset({"draining", "retired"})
_NOT_UP = frozenset({"down", "draining", "tried"})
_Refused = tuple[Instance, Refusal]


def no_instance(view: VersionView, terms: Terms) -> NoInstance:
    """Give every instance of a version its reason; asked only where none is fit."""
    refused = _refused((view,), terms)
    status, code = _status_and_code((view,), refused)
    return NoInstance(status, code, _rejections(refused), _earliest(refused))


def none_ready(model_id: str, requested: str, views: Sequence[VersionView], terms: Terms) -> NotRouted:
    """Say why none of the versions that a range matches, highest first, has a ready instance."""
    active = [view for view in views if view.contract.status is Status.ACTIVE]
    status, code = _status_and_code(active or views, _refused(active or views, terms))
    refused = _refused(views, terms)
    rejected = _rejections(refused)
    return NotRouted(
        status,
        code,
        _sentence(model_id, requested, [view.version for view in views], rejected),
        rejected=rejected,
        model_id=model_id,
        version=(active or views)[0].version,
        requested=requested,
        back_at=_earliest(refused),
    )


def not_routed(resolution: Resolution, missing: NoInstance) -> NotRouted:
    """Turn a version without an instance to take the request into the answer's refusal."""
    model_id, version = resolution.model.model_id, resolution.view.version
    return NotRouted(
        missing.status,
        missing.code,
        _sentence(model_id, resolution.requested, [version], missing.rejected),
        rejected=missing.rejected,
        model_id=model_id,
        version=version,
        requested=resolution.requested,
        reason=resolution.reason,
        back_at=missing.back_at,
        canary_returned=resolution.canary_returned,
    )


def _refused(views: Iterable[VersionView], terms: Terms) -> list[_Refused]:
    return [
        (instance, refusal)
        for view in views
        for instance in view.instances
        if (refusal := why_not(view, instance, terms)) is not None
    ]


def _status_and_code(views: Sequence[VersionView], refused: Sequence[_Refused]) -> tuple[int, str]:
    """Name what stands in the way. Room is asked last, so `full` says that nothing else does."""
    steps = {refusal.step for _, refusal in refused}
    if "full" in steps:
        return 429, "saturated"
    if all(view.contract.status is not Status.ACTIVE for view in views) or (steps and steps <= _LEAVING):
        return 503, "draining"
    if steps & _NOT_UP:
        return 503, "no_instance_up"
    return 503, "no_verified_instance"


def _rejections(refused: Iterable[_Refused]) -> tuple[Rejection, ...]:
    return tuple(Rejection(str(instance.version), instance.id, str(refusal)) for instance, refusal in refused)


def _earliest(refused: Iterable[_Refused]) -> float | None:
    return min((instance.back_at for instance, _ in refused if instance.back_at is not None), default=None)


def _sentence(model_id: str, requested: str, versions: Sequence[Version], rejected: Sequence[Rejection]) -> str:
    by_version = {version: tuple(group) for version, group in groupby(rejected, key=attrgetter("version"))}
    parts = [_about(str(version), by_version.get(str(version), ())) for version in versions]
    return f"{model_id} {requested}: {'; '.join(parts)}; ask again after the time in Retry-After"


def _about(version: str, rejected: Sequence[Rejection]) -> str:
    if not rejected:
        return f"{version} has no instances"
    named = ", ".join(_named(one) for one in rejected[:NAMED])
    more = f" and {len(rejected) - NAMED} more" if len(rejected) > NAMED else ""
    return f"{version} has {len(rejected)} instance{'s'[: len(rejected) > 1]}: {named}{more}"


def _named(rejection: Rejection) -> str:
    step, _, cause = rejection.reason.partition(": ")
    return f"{rejection.instance} {step} ({cause})" if cause else f"{rejection.instance} {step}"
