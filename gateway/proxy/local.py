"""Paths of the data port that the gateway answers itself, from the snapshot (clients.md section 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

from contracts.terms import Status
from gateway.proxy.problem import Family, refuse
from gateway.proxy.request import Request
from gateway.proxy.target import Target
from gateway.routing.snapshot import ModelView, Snapshot, VersionView

_ANSWERED_METHODS: Final = frozenset({"GET", "HEAD"})


@dataclass(frozen=True, slots=True)
class LocalAnswer:
    """An answer that no worker made; `body` is plain data for JSON."""

    status: int
    body: dict[str, Any]


def local_answer(request: Request, target: Target, snapshot: Snapshot, *, ready: bool) -> LocalAnswer | None:
    """Answer a path of our own; None where it belongs to a worker.

    Raises:
        Refused: The path is ours and names something that does not exist.
    """
    path = target.path
    if target.is_healthz:
        detail = "/healthz is between gateway and worker; ask /livez or /readyz."
        raise refuse(404, "path_not_found", detail, close=False)
    if target.selectors and target.family is not Family.OPEN_INFERENCE:
        return None
    if request.method not in _ANSWERED_METHODS:
        return None
    if path == b"/livez":
        return LocalAnswer(200, {"status": "ok"})
    if path == b"/readyz":
        return _readiness(ready)
    if target.family is Family.OPENAI:
        return _openai(path, snapshot)
    if target.family is Family.OPEN_INFERENCE:
        return _open_inference(path, target, snapshot, ready=ready)
    return None


def _readiness(ready: bool) -> LocalAnswer:
    return LocalAnswer(200, {"status": "ok"}) if ready else LocalAnswer(503, {"status": "not ready"})


# OpenAI -----------------------------------------------------------------------------------------------------------


def _openai(path: bytes, snapshot: Snapshot) -> LocalAnswer | None:
    if path == b"/v1/models":
        listed = [entry for model in snapshot.models.values() for entry in _model_entries(model)]
        return LocalAnswer(200, {"object": "list", "data": listed})
    if not path.startswith(b"/v1/models/"):
        return None
    name = unquote(path.removeprefix(b"/v1/models/").decode("latin-1"))
    model = snapshot.models.get(name.partition("@")[0])
    entry = next((entry for entry in _model_entries(model) if entry["id"] == name), None) if model else None
    if entry is None:
        raise refuse(
            404,
            "model_not_found",
            f"No verified instance serves {name!r}; GET /v1/models lists what there is.",
            close=False,
        )
    return LocalAnswer(200, entry)


def _model_entries(model: ModelView) -> list[dict[str, Any]]:
    serving = [view for view in model.ranked if view.ready]
    if not serving:
        return []
    entries = [_entry(model.model_id, serving[0])]
    return entries + [_entry(f"{model.model_id}@{view.version}", view) for view in serving]


def _entry(name: str, view: VersionView) -> dict[str, Any]:
    contract = view.contract
    sunset = contract.sunset_at
    return {
        "id": name,
        "object": "model",
        "created": 0,
        "owned_by": "dna-gateway",
        "version": str(view.version),
        "dna": sorted({instance.dna for instance in view.ready if instance.dna is not None}),
        "deprecated": contract.deprecated_at is not None,
        "shutdown_date": sunset.date().isoformat() if sunset is not None else None,
    }


# Open Inference Protocol ------------------------------------------------------------------------------------------


def _open_inference(path: bytes, target: Target, snapshot: Snapshot, *, ready: bool) -> LocalAnswer | None:
    if path == b"/v2":
        return LocalAnswer(200, {"name": "dna-gateway", "version": "2", "extensions": []})
    if path == b"/v2/health/live":
        return LocalAnswer(200, {"live": True})
    if path == b"/v2/health/ready":
        return LocalAnswer(200 if ready else 503, {"ready": ready})
    if target.model_id is None or target.rest not in ("", "ready"):
        return None
    model = snapshot.models.get(target.model_id)
    if model is None:
        raise refuse(404, "model_not_found", f"No contract names the model {target.model_id!r}.", close=False)
    if target.rest == "ready":
        serves = any(view.ready for view in model.ranked)
        return LocalAnswer(200 if serves else 503, {"name": model.model_id, "ready": serves})
    active = [str(view.version) for view in model.ranked if view.contract.status is not Status.RETIRED]
    return LocalAnswer(200, {"name": model.model_id, "versions": active, "platform": "dna-gateway"})
