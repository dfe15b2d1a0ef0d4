"""Snapshots for tests, in as few words as the story needs.

`fleet("v1.2.0", "v1.4.0")` is one model with one ready instance per version. A version that needs more is written with
`served`, an instance that needs more with `worker`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from contracts.contract import Contract, parse_contract
from contracts.route import Route, parse_route
from contracts.version import Version
from gateway.routing.asking import RouteRequest
from gateway.routing.filters import InFlight
from gateway.routing.snapshot import Instance, Refusal, Snapshot, VersionView
from gateway.routing.views import assemble_model, assemble_version

MODEL = "bert-base-chinese"
GENERATION = 7
A100 = "a1b2c3d49f8e7d6c"
"""DNA of a worker on one stack ..."""
H100 = "7cd8c3d4aa6a64d4"
"""... and of the same artifact on another."""


def fleet(
    *versions: str | VersionView,
    route: Mapping[str, Any] | None = None,
    model_id: str = MODEL,
    generation: int = GENERATION,
) -> Snapshot:
    """One model; a version given as text has one ready instance. `route` is its document without `model_id`."""
    views = [served(version, model_id=model_id) if isinstance(version, str) else version for version in versions]
    document = None if route is None else route_document(route, model_id=model_id)
    return Snapshot(generation, MappingProxyType({model_id: assemble_model(model_id, views, document)}))


def together(*snapshots: Snapshot) -> Snapshot:
    """Several models in one snapshot."""
    models = {model_id: model for snapshot in snapshots for model_id, model in snapshot.models.items()}
    return Snapshot(GENERATION, MappingProxyType(models))


def served(version: str, *instances: Instance, tied: bool = False, model_id: str = MODEL, **fields: Any) -> VersionView:
    """One version with these instances, else with one ready instance; `fields` are of its contract document."""
    document = contract_document(version, model_id=model_id, **fields)
    return assemble_version(document, instances or (worker(version, model_id=model_id),), tied=tied)


def unserved(version: str, *, model_id: str = MODEL, **fields: Any) -> VersionView:
    """One version that no instance belongs to."""
    return assemble_version(contract_document(version, model_id=model_id, **fields), ())


def worker(
    version: str,
    name: str = "i-1",
    *,
    refused: str = "",
    dna: str | None = A100,
    model_id: str = MODEL,
    **fields: Any,
) -> Instance:
    """One instance; `refused` is its refusal as people read it, such as `ejected: digest differs`."""
    step, _, cause = refused.partition(": ")
    return Instance(
        id=name,
        url=f"http://{name}:8000",
        host=name,
        address="192.0.2.1",
        port=8000,
        tls=False,
        base_path="",
        model_id=model_id,
        version=Version.parse(version),
        refusal=Refusal(step, cause) if refused else None,
        verified=step not in {"unverified", "suspect", "ejected"},
        dna=dna,
        **{"ready_since": -1000.0, **fields},
    )


def asking(
    *selectors: str, model: str | None = None, prefix: str | None = None, wish: str | None = None, key: str = ""
) -> RouteRequest:
    """One request's wishes."""
    return RouteRequest(model, selectors, prefix, wish, key)


def idle(instance: Instance) -> int:
    """No instance is answering anything."""
    del instance
    return 0


def busy(**counts: int) -> InFlight:
    """These instances are answering so many requests; `_` in a name stands for `-`."""
    named = {name.replace("_", "-"): count for name, count in counts.items()}
    return lambda instance: named.get(instance.id, 0)


def contract_document(version: str, *, model_id: str = MODEL, **fields: Any) -> Contract:
    """One contract, through the same door as everybody's."""
    return parse_contract(json.dumps({"model_id": model_id, "version": version, **fields}))


def route_document(fields: Mapping[str, Any], *, model_id: str = MODEL) -> Route:
    """One route, through the same door as everybody's."""
    return parse_route(json.dumps({"model_id": model_id, **fields}))
