"""The decision a request would get, as plain data for `/explain`. Nothing is sent."""

from __future__ import annotations

from contracts.version import Version
from gateway.rollout.assignment import assign
from gateway.routing.asking import RouteRequest
from gateway.routing.decision import Decision, NotRouted, Rejection
from gateway.routing.filters import InFlight
from gateway.routing.resolve import canary_bucket
from gateway.routing.router import route
from gateway.routing.snapshot import ModelView, Snapshot
from inference_dna.canonical import Json

_FIT = frozenset({"scorer", "picker"})
"""Steps that pass over an instance which may take the request."""
_Weights = dict[tuple[str, str], float]


def explain(
    snapshot: Snapshot, request: RouteRequest, *, in_flight: InFlight, draw: float, now: float
) -> dict[str, Json]:
    """Decide a request and tell everything that led there; arguments as for `router.route`.

    Members: `generation`, `model`, `requested`, `reason`, `version`, `instance`, `dna_prefix`, `canary` (null, or
    `bucket`, `slice` and `returned`), `candidates` (each `version`, `instance`, `weight`, `kept`, `reason`), and where
    nothing would answer `status`, `code`, `detail`, `available`, `successor`.
    """
    outcome = route(snapshot, request, in_flight=in_flight, draw=draw, now=now)
    weights = _weights(_model(snapshot, outcome))
    told = _routed(outcome, weights) if isinstance(outcome, Decision) else _not_routed(outcome, weights)
    return {"generation": snapshot.generation, **told, "canary": _canary(snapshot, request, outcome)}


def _routed(decision: Decision, weights: _Weights) -> dict[str, Json]:
    resolution, instance = decision.resolution, decision.instance
    picked: dict[str, Json] = {
        "version": str(decision.version),
        "instance": instance.id,
        "weight": instance.weight,
        "kept": True,
        "reason": "picked",
    }
    return {
        "model": resolution.model.model_id,
        "requested": resolution.requested,
        "reason": resolution.reason.value,
        "version": str(decision.version),
        "instance": instance.id,
        "dna_prefix": resolution.dna_prefix,
        "candidates": [picked, *(_candidate(rejection, weights) for rejection in decision.rejected)],
    }


def _not_routed(outcome: NotRouted, weights: _Weights) -> dict[str, Json]:
    return {
        "model": outcome.model_id,
        "requested": outcome.requested,
        "reason": outcome.reason.value if outcome.reason else None,
        "version": str(outcome.version) if outcome.version else None,
        "instance": None,
        "dna_prefix": None,
        "candidates": [_candidate(rejection, weights) for rejection in outcome.rejected],
        "status": outcome.status,
        "code": outcome.code,
        "detail": outcome.detail,
        "available": list(outcome.available),
        "successor": str(outcome.successor) if outcome.successor else None,
    }


def _candidate(rejection: Rejection, weights: _Weights) -> Json:
    step = rejection.reason.partition(":")[0]
    return {
        "version": rejection.version,
        "instance": rejection.instance,
        "weight": weights[rejection.version, rejection.instance],
        "kept": step in _FIT,
        "reason": rejection.reason,
    }


def _weights(model: ModelView | None) -> _Weights:
    """Look up the weight of every instance of a model by printed version and id."""
    views = model.ranked if model else ()
    return {(str(view.version), instance.id): instance.weight for view in views for instance in view.instances}


def _canary(snapshot: Snapshot, request: RouteRequest, outcome: Decision | NotRouted) -> Json:
    """Tell bucket and slice where canary rules were asked at all."""
    model = _model(snapshot, outcome)
    if model is None or not model.slices or request.selectors or request.dna_prefix is not None:
        return None
    bucket = canary_bucket(model, request.sticky_key)
    owned = assign(model.slices, bucket=bucket)
    if owned is None:
        return {"bucket": bucket, "slice": None, "returned": False}
    version = str(owned.version)
    return {
        "bucket": bucket,
        "slice": {"low": owned.low, "high": owned.high, "version": version, "dna_prefix": owned.dna_prefix},
        "returned": _returned(outcome) is not None,
    }


def _returned(outcome: Decision | NotRouted) -> Version | None:
    return outcome.resolution.canary_returned if isinstance(outcome, Decision) else outcome.canary_returned


def _model(snapshot: Snapshot, outcome: Decision | NotRouted) -> ModelView | None:
    if isinstance(outcome, Decision):
        return outcome.resolution.model
    return snapshot.models.get(outcome.model_id or "")
