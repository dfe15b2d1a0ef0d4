"""Documents and instances in, views out: what requests would otherwise have to work out is worked out here once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import MappingProxyType

from contracts.canary import slices
from contracts.contract import Contract
from contracts.route import Route
from contracts.selector import Alias, Exact, Range
from gateway.routing.snapshot import CanarySlice, Instance, ModelView, VersionView


def assemble_version(contract: Contract, instances: Sequence[Instance], *, tied: bool = False) -> VersionView:
    """Put a contract and its instances together.

    Args:
        contract: What the version promises.
        instances: Its instances in the order people see them.
        tied: Whether another build of the same precedence exists and neither came first.
    """
    ready = tuple(instance for instance in instances if instance.refusal is None)
    return VersionView(contract, tuple(instances), ready, tied)


def assemble_model(model_id: str, versions: Iterable[VersionView], route: Route | None) -> ModelView:
    """Put the versions of a model and its route together.

    Args:
        model_id: The model.
        versions: One view per contract, in any order.
        route: How its requests are spread; None where no route document exists.
    """
    # Builds tie in precedence; their text keeps the order the same on every gateway.
    ranked = sorted(versions, key=lambda view: (view.version.precedence, str(view.version)), reverse=True)
    return ModelView(
        model_id,
        versions=MappingProxyType({view.version: view for view in ranked}),
        ranked=tuple(ranked),
        route=route,
        default=_default(route) if route else None,
        slices=_slices(route) if route else (),
        max_bodies=frozenset(view.contract.limits.max_body_bytes for view in ranked),
    )


def _default(route: Route) -> Exact | Range | None:
    """Look behind an alias; a route is only accepted where there is something behind it."""
    selector = route.default
    if isinstance(selector, Alias):
        selector = route.aliases[selector.name]
    # What stands behind an alias is never another one.
    return None if isinstance(selector, Alias) else selector


def _slices(route: Route) -> tuple[CanarySlice, ...]:
    """One slice per rule, contract or not: a contract that comes later must not move other rules' keys."""
    bounds = slices([rule.traffic_percentage for rule in route.canary_rules])
    return tuple(
        CanarySlice(low, high, rule.version, rule.dna_prefix)
        for (low, high), rule in zip(bounds, route.canary_rules, strict=True)
    )
