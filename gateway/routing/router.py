"""Request in, decision out: which version, which instance, and why nothing else (design rule 3)."""

from __future__ import annotations

from contracts.selector import Exact, Range
from contracts.terms import Status
from gateway.routing.asking import RouteRequest
from gateway.routing.decision import Decision, NoInstance, NotRouted, Rejection, Resolution
from gateway.routing.filters import InFlight, Terms, why_not
from gateway.routing.pickers import passed_over, pick
from gateway.routing.resolve import resolve, selector_of
from gateway.routing.snapshot import Instance, Snapshot, VersionView
from gateway.routing.unavailable import not_routed

__all__ = ["Decision", "NotRouted", "route"]


def route(
    snapshot: Snapshot, request: RouteRequest, *, in_flight: InFlight, draw: float, now: float
) -> Decision | NotRouted:
    """Decide one request with every reason; the data plane does the same in two steps and leaves the reasons out.

    Args:
        snapshot: The generation to decide on.
        request: What the request says of routing.
        in_flight: How many requests an instance is answering.
        draw: Uniform in [0, 1).
        now: Monotonic second.
    """
    resolution = resolve(snapshot, request)
    if isinstance(resolution, NotRouted):
        return resolution
    prefix, wish = resolution.dna_prefix, request.dna_wish
    picked = pick(resolution.view, dna_prefix=prefix, dna_wish=wish, in_flight=in_flight, draw=draw, now=now)
    if isinstance(picked, NoInstance):
        return not_routed(resolution, picked)
    others = passed_over(resolution.view, picked=picked, dna_prefix=prefix, dna_wish=wish, in_flight=in_flight, now=now)
    return Decision(resolution, picked, others + _of_other_versions(resolution, Terms(in_flight, prefix)))


def _of_other_versions(resolution: Resolution, terms: Terms) -> tuple[Rejection, ...]:
    selector = selector_of(resolution)
    return tuple(
        Rejection(str(view.version), instance.id, _why_elsewhere(view, instance, resolution, terms, selector))
        for view in resolution.model.ranked
        if view is not resolution.view
        for instance in view.instances
    )


def _why_elsewhere(
    view: VersionView, instance: Instance, resolution: Resolution, terms: Terms, selector: Exact | Range | None
) -> str:
    """Say why an instance of another version does not answer: its own refusal where the version was looked at."""
    if view.contract.status is Status.RETIRED:
        return "retired"
    if view.version == resolution.canary_returned:
        return str(why_not(view, instance, terms) or "dna_prefix: not the canary rule's")
    if isinstance(selector, Range) and selector.matches(view.version):
        if view.tied:
            return "version: ties with another build, so ranges use neither"
        return str(why_not(view, instance, terms) or f"version: {resolution.view.version} is higher")
    return f"version: {resolution.reason} chose {resolution.view.version}"
