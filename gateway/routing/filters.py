"""Which instances may take a request, and the first reason why one may not (routing.md section 1, in its order).

This order decides which reason people read. Picking itself only asks whether all filters pass (`is_fit`), on
instances that the snapshot already holds ready; both must agree, and a test compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from contracts.terms import Status
from gateway.routing.snapshot import Instance, Refusal, VersionView

InFlight = Callable[[Instance], int]
"""How many requests an instance is answering now."""

IDENTITY = frozenset({"unverified", "suspect", "ejected"})
"""Steps of a refusal that concern identity; all others concern liveness."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What one request asks of an instance."""

    in_flight: InFlight
    dna_prefix: str | None = None
    excluded: Collection[tuple[str, str, str]] = ()
    """Keys of instances that were tried already."""


Filter = Callable[[Instance, Terms], Refusal | None]


def why_not(view: VersionView, instance: Instance, terms: Terms) -> Refusal | None:
    """Say which filter is the first to refuse an instance of this version; None where it is fit."""
    if view.contract.status is not Status.ACTIVE:
        return _OUT_OF_SERVICE[view.contract.status]
    for refuses in FILTERS:
        refusal = refuses(instance, terms)
        if refusal is not None:
            return refusal
    return None


def is_fit(instance: Instance, count: int, dna_prefix: str | None, excluded: Collection[tuple[str, str, str]]) -> bool:
    """Say whether a ready instance of an active version, `count` requests in flight, passes what the request asks."""
    if count >= instance.max_in_flight or (excluded and instance.key in excluded):
        return False
    return dna_prefix is None or has_prefix(instance, dna_prefix)


def has_prefix(instance: Instance, dna_prefix: str) -> bool:
    """Say whether the DNA of an instance is known and starts so."""
    return instance.dna is not None and instance.dna.startswith(dna_prefix)


def identity(instance: Instance, terms: Terms) -> Refusal | None:
    """Refuse what is not verified for this version."""
    del terms
    return instance.refusal if instance.refusal and instance.refusal.step in IDENTITY else None


def prefix(instance: Instance, terms: Terms) -> Refusal | None:
    """Refuse another DNA than the one asked for."""
    if terms.dna_prefix is None or has_prefix(instance, terms.dna_prefix):
        return None
    shown = instance.dna[:8] if instance.dna else "an unknown DNA"
    return Refusal("dna_prefix", f"{shown} does not begin with {terms.dna_prefix}")


def liveness(instance: Instance, terms: Terms) -> Refusal | None:
    """Refuse what is down or draining."""
    del terms
    return instance.refusal


def tried(instance: Instance, terms: Terms) -> Refusal | None:
    """Refuse what this request was sent to before."""
    return Refusal("tried", "this request was sent there already") if instance.key in terms.excluded else None


def room(instance: Instance, terms: Terms) -> Refusal | None:
    """Refuse what is at its limit."""
    count = terms.in_flight(instance)
    return Refusal("full", f"{count} in flight") if count >= instance.max_in_flight else None


FILTERS: tuple[Filter, ...] = (identity, prefix, liveness, tried, room)
_OUT_OF_SERVICE = {
    Status.DRAINING: Refusal("draining", "the version is being taken out of service"),
    Status.RETIRED: Refusal("retired", "the version is out of service"),
}
