"""The fleet in figures, for the gauges: what is counted at the moment of a scrape."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import product
from types import MappingProxyType

from contracts.terms import Enforcement, Status
from contracts.version import Version
from gateway.control.catalogue import Choice
from gateway.control.census import Census
from gateway.control.documents import Documents, DocumentState
from gateway.control.oddities import Oddity
from gateway.control.standing import InstanceKey, Tracked, shown_identity
from gateway.control.watcher import SourceState
from gateway.health.identity import Identity
from gateway.health.liveness import Liveness
from gateway.routing.asking import RouteRequest
from gateway.routing.resolve import Resolution, resolve
from gateway.routing.snapshot import ModelView, Snapshot, VersionView
from gateway.sources.listing import CheckState, Listing, Registration
from gateway.telemetry.gauges import FleetFigures, ServiceFigures, VersionFigures

_STATES = tuple(product([identity.value for identity in Identity], [liveness.value for liveness in Liveness]))
_MAINTENANCE, _KEPT = "maintenance", "kept"
_REGISTRATION_STATES = (*(state.value for state in CheckState), _MAINTENANCE, _KEPT)
_DOCUMENT_STATES = tuple(product(("contract", "route"), [state.value for state in DocumentState]))


def figures(
    snapshot: Snapshot,
    documents: Documents,
    choice: Choice,
    tracked: Mapping[InstanceKey, Tracked],
    source: SourceState,
) -> FleetFigures:
    """Count what there is."""
    by_state: Counter[tuple[str, str]] = Counter(
        (entry.kind, entry.state.value) for entry in documents.entries.values()
    )
    return FleetFigures(
        generation=snapshot.generation,
        last_success=source.last_good_at,
        config_hash=documents.sha,
        source=source.kind if source.kept_at is None else "disk",
        documents={state: by_state[state] for state in _DOCUMENT_STATES},
        versions=tuple(_versions(snapshot, tracked)),
        services=tuple(_services(choice)),
    )


def _versions(snapshot: Snapshot, tracked: Mapping[InstanceKey, Tracked]) -> Iterable[VersionFigures]:
    for model in snapshot.models.values():
        shares = wanted_shares(model)
        for view in model.ranked:
            if view.contract.status is not Status.RETIRED:
                yield _version(view, tracked, shares.get(view.version, 0.0) if shares else None)


def _version(view: VersionView, tracked: Mapping[InstanceKey, Tracked], share: float | None) -> VersionFigures:
    ones = [one for instance in view.instances if (one := tracked.get(instance.key)) is not None]
    counts = Counter((shown_identity(one)[0].value, one.liveness.liveness.value) for one in ones)
    return VersionFigures(
        model_id=view.contract.model_id,
        version=str(view.version),
        instances={state: counts[state] for state in _STATES},
        observe=view.contract.enforcement is Enforcement.OBSERVE,
        share=share,
        panic=Census.of(ones).head.panic,
    )


def _services(choice: Choice) -> Iterable[ServiceFigures]:
    odd = Counter((fault.service, fault.oddity) for fault in choice.faults)
    for service, listing in choice.listings.items():
        counts = Counter(_registration_state(one, listing) for one in listing.registrations)
        yield ServiceFigures(
            service=service,
            trusted=not listing.problem,
            registrations={state: counts[state] for state in _REGISTRATION_STATES},
            odd={oddity.value: odd[service, oddity] for oddity in Oddity},
        )


def _registration_state(one: Registration, listing: Listing) -> str:
    if one.key in listing.kept:
        return _KEPT
    return _MAINTENANCE if one.maintenance is not None else one.check.value


def wanted_shares(model: ModelView) -> dict[Version, float]:
    """Say which share of the requests that name nothing each version of a model is meant to get.

    Empty where no canary rule and no default says.
    """
    shares: defaultdict[Version, float] = defaultdict(float)
    rest = 1.0
    for rule in model.slices:
        shares[rule.version] += rule.high - rule.low
        rest -= rule.high - rule.low
    alone = replace(model, slices=())
    default = resolve(Snapshot(models=MappingProxyType({model.model_id: alone})), RouteRequest(model_id=model.model_id))
    if isinstance(default, Resolution):
        shares[default.view.version] += rest
    return dict(shares)
