"""Requests that no instance could ever answer, each with a sentence that says what to do (clients.md section 4)."""

from __future__ import annotations

from collections.abc import Iterable

from contracts.faults import quoted
from contracts.selector import Selector
from contracts.terms import Status
from contracts.version import Version
from gateway.routing.decision import NotRouted, Rejection
from gateway.routing.snapshot import ModelView, Snapshot, VersionView

LISTED = 100
"""So many alternatives an error names at most."""


def not_configured() -> NotRouted:
    """Refuse while there is no document at all."""
    return NotRouted(503, "not_configured", "no contract is loaded yet; ask again after the time in Retry-After")


def model_required(snapshot: Snapshot) -> NotRouted:
    """Refuse a request that names no model where there are several."""
    detail = "the request names no model; name one in the path, X-Model-Id or the body's model"
    return NotRouted(400, "model_required", detail, available=_listed(snapshot.models))


def model_not_found(snapshot: Snapshot, model_id: str) -> NotRouted:
    """Refuse a model that no document names."""
    detail = f"there is no model {quoted(model_id)}; name one of those in available"
    return NotRouted(404, "model_not_found", detail, available=_listed(snapshot.models), model_id=model_id)


def dna_prefix_invalid(text: str) -> NotRouted:
    """Refuse a DNA prefix that is none."""
    detail = f"X-Inference-DNA-Prefix {quoted(text)} is not 1 to 8 of 0-9 a-f"
    return NotRouted(400, "dna_prefix_invalid", detail)


def selector_invalid(fault: str) -> NotRouted:
    """Refuse a selector that cannot be read; `fault` says which and why."""
    return NotRouted(400, "selector_invalid", fault)


def selector_conflict(first: str, second: str) -> NotRouted:
    """Refuse two selectors of one request that ask for different things."""
    detail = f"the request asks for {quoted(first)} and for {quoted(second)}; send one of them"
    return NotRouted(400, "selector_conflict", detail)


def selector_required(model: ModelView) -> NotRouted:
    """Refuse a request that names no version where nothing chooses one."""
    detail = (
        f"{model.model_id} has {len(model.versions)} versions and no default: name one in X-Model-Preference, "
        "or add a default to its route"
    )
    return NotRouted(400, "selector_required", detail, available=versions_of(model))


def no_version(model: ModelView) -> NotRouted:
    """Refuse a model that has a route and no contract."""
    return NotRouted(404, "version_not_found", f"{model.model_id} has a route and no version yet; add a contract")


def alias_not_found(model: ModelView, name: str) -> NotRouted:
    """Refuse a word that is no alias of the model."""
    aliases = _listed(model.route.aliases if model.route else ())
    known = f"its aliases are {', '.join(aliases)}" if aliases else "it has no aliases"
    detail = f"{model.model_id} has no alias {quoted(name)}: {known}; or name a version of those in available"
    return NotRouted(404, "version_not_found", detail, available=versions_of(model))


def version_not_found(model: ModelView, selector: Selector) -> NotRouted:
    """Refuse a selector that no version satisfies."""
    tied = [str(view.version) for view in model.ranked if view.tied]
    hint = f"; {', '.join(tied[:LISTED])} differ only in build metadata and must be named exactly" if tied else ""
    detail = f"{model.model_id} has no version for {quoted(selector.text)}; name one of those in available{hint}"
    return NotRouted(404, "version_not_found", detail, available=versions_of(model))


def version_retired(model: ModelView, view: VersionView) -> NotRouted:
    """Refuse a version that is out of service."""
    successor = view.contract.successor
    instead = f"use {successor}" if successor else "name one of those in available"
    version: Version = view.version
    return NotRouted(
        410,
        "version_retired",
        f"{model.model_id} {version} is retired; {instead}",
        rejected=tuple(Rejection(str(version), instance.id, "retired") for instance in view.instances),
        available=versions_of(model),
        successor=successor,
        version=version,
    )


def versions_of(model: ModelView) -> tuple[str, ...]:
    """The versions of a model that take requests, highest first."""
    return _listed(str(view.version) for view in model.ranked if view.contract.status is Status.ACTIVE)


def _listed(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(names)[:LISTED]
