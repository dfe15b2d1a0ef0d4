"""Which version a request is pinned to (design section 6, routing.md section 1).

Order of precedence: a selector (path, header, body), a DNA prefix, canary rules, the default. The version chosen here
is final: nothing after this looks at another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from contracts.canary import bucket
from contracts.selector import Exact, Range
from contracts.terms import Status
from contracts.version import Version
from gateway.rollout.assignment import assign
from gateway.routing import unroutable
from gateway.routing.asking import RouteRequest
from gateway.routing.decision import NOTHING_ASKED, NotRouted, Reason, Resolution
from gateway.routing.selection import agreed, can_answer, in_service, select
from gateway.routing.snapshot import ModelView, Snapshot, VersionView
from inference_dna.canonical import Refused
from inference_dna.dna import parse_dna_prefix

_MOST_REMEMBERED = 4096
__all__ = ["NotRouted", "Reason", "Resolution", "canary_bucket", "resolve", "selector_of"]


def resolve(snapshot: Snapshot, request: RouteRequest) -> Resolution | NotRouted:
    """Pin a request to one version of one model."""
    key = (request.model_id, request.selectors, request.dna_prefix)
    known = snapshot.resolved.get(key)
    if known is not None:
        return known
    outcome = _resolve(snapshot, request)
    if isinstance(outcome, Resolution) and _is_lasting(outcome, request):
        if len(snapshot.resolved) >= _MOST_REMEMBERED:
            snapshot.resolved.clear()
        snapshot.resolved[key] = outcome
    return outcome


def _is_lasting(outcome: Resolution, request: RouteRequest) -> bool:
    """Say whether the question has this answer for as long as its snapshot lasts: no sticky key had a part in it."""
    return bool(request.selectors) or request.dna_prefix is not None or not outcome.model.slices


def _resolve(snapshot: Snapshot, request: RouteRequest) -> Resolution | NotRouted:
    model = _model(snapshot, request.model_id)
    outcome = model if isinstance(model, NotRouted) else _version(snapshot, model, request)
    if isinstance(outcome, NotRouted):
        model_id = outcome.model_id if isinstance(model, NotRouted) else model.model_id
        requested = request.selectors[0] if request.selectors else NOTHING_ASKED
        return replace(outcome, model_id=model_id, requested=requested)
    return outcome


def canary_bucket(model: ModelView, sticky_key: str) -> float:
    """Where a sticky key falls among the canary rules of a model, in [0, 1)."""
    return bucket(model.route.salt if model.route else "", model.model_id, sticky_key)


def selector_of(resolution: Resolution) -> Exact | Range | None:
    """Give the selector that chose the version; None where a canary rule did, or there was but one version."""
    model = resolution.model
    if resolution.reason in {Reason.EXACT, Reason.RANGE}:
        selector = agreed(model, (resolution.requested,))
        return None if isinstance(selector, NotRouted) else selector
    by_rule = resolution.reason is Reason.CANARY or _canary_of(model, resolution.dna_prefix or "") is not None
    return None if by_rule else model.default


def _model(snapshot: Snapshot, model_id: str | None) -> ModelView | NotRouted:
    models = snapshot.models
    if model_id and (model := models.get(model_id)) is not None:
        return model
    if not models:
        return unroutable.not_configured()
    if model_id:
        return unroutable.model_not_found(snapshot, model_id)
    # Sent empty is not left out: only silence means "the only one there is".
    if model_id is None and len(models) == 1:
        return next(iter(models.values()))
    return unroutable.model_required(snapshot)


def _version(snapshot: Snapshot, model: ModelView, request: RouteRequest) -> Resolution | NotRouted:
    """Go down the order of precedence: selector, DNA prefix, canary rules and default."""
    prefix = request.dna_prefix
    if prefix is not None:
        try:
            prefix = parse_dna_prefix(prefix)
        except Refused:
            return unroutable.dna_prefix_invalid(prefix)
    if request.selectors:
        return _asked(snapshot, model, request.selectors, prefix)
    if prefix is not None:
        view = _canary_of(model, prefix) or _default(model, prefix)
        return _pinned(snapshot, model, view, Reason.DNA, prefix=prefix)
    return _unasked(snapshot, model, request.sticky_key)


def _asked(snapshot: Snapshot, model: ModelView, texts: Sequence[str], prefix: str | None) -> Resolution | NotRouted:
    """Follow what the client named."""
    selector = agreed(model, texts)
    if isinstance(selector, NotRouted):
        return selector
    reason = Reason.EXACT if isinstance(selector, Exact) else Reason.RANGE
    view = select(model, selector, dna_prefix=prefix, requested=texts[0])
    return _pinned(snapshot, model, view, reason, prefix=prefix, requested=texts[0])


def _unasked(snapshot: Snapshot, model: ModelView, sticky_key: str) -> Resolution | NotRouted:
    """Let the canary rules choose, else the default; a canary without an instance gives its share back."""
    owned = assign(model.slices, bucket=canary_bucket(model, sticky_key)) if model.slices else None
    if owned is None:
        return _pinned(snapshot, model, _default(model, None), Reason.DEFAULT)
    canary = model.versions.get(owned.version)
    if canary is not None and can_answer(canary, owned.dna_prefix):
        return _pinned(snapshot, model, canary, Reason.CANARY, prefix=owned.dna_prefix)
    return _pinned(snapshot, model, _default(model, None), Reason.DEFAULT, returned=owned.version)


def _pinned(
    snapshot: Snapshot,
    model: ModelView,
    view: VersionView | NotRouted,
    reason: Reason,
    *,
    prefix: str | None = None,
    requested: str = NOTHING_ASKED,
    returned: Version | None = None,
) -> Resolution | NotRouted:
    if isinstance(view, NotRouted):
        return replace(view, reason=reason if view.version else None, canary_returned=returned)
    return Resolution(model, view, requested, reason, prefix, returned, snapshot.generation)


def _default(model: ModelView, prefix: str | None) -> VersionView | NotRouted:
    """Follow the route's default; without one, the only version there is."""
    if model.default is not None:
        return select(model, model.default, dna_prefix=prefix, requested=NOTHING_ASKED)
    if not model.versions:
        return unroutable.no_version(model)
    if len(model.versions) == 1:
        return in_service(model, model.ranked[0])
    return unroutable.selector_required(model)


def _canary_of(model: ModelView, prefix: str) -> VersionView | None:
    """Find the canary whose DNA prefix the client's equals or extends, whatever its share; the longest fits best."""
    best: VersionView | None = None
    length = 0
    for rule in model.slices:
        view = model.versions.get(rule.version)
        if view is None or view.contract.status is not Status.ACTIVE or rule.dna_prefix is None:
            continue
        if len(rule.dna_prefix) > length and prefix.startswith(rule.dna_prefix):
            best, length = view, len(rule.dna_prefix)
    return best
