"""Gauges that describe the fleet: read off the snapshot when scraped, so none can be forgotten on a change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector, CollectorRegistry


@dataclass(frozen=True, slots=True)
class VersionFigures:
    """One version as gauges show it.

    Attributes:
        model_id: The model.
        version: The version, printed with `v`.
        instances: How many, by identity and liveness; every state present, also as 0.
        observe: Enforcement is `observe`.
        share: Wanted share of the requests that name no version, 0 to 1; None where no route says.
        panic: Outliers are used again.
    """

    model_id: str
    version: str
    instances: Mapping[tuple[str, str], int]
    observe: bool
    share: float | None
    panic: bool


@dataclass(frozen=True, slots=True)
class ServiceFigures:
    """One service of the catalogue as gauges show it.

    Attributes:
        service: Its name.
        trusted: Its list was taken at its word.
        registrations: How many, by what the catalogue's checks say, `maintenance` and `kept`; every state present.
        odd: How many, by what is odd about them; every word present.
    """

    service: str
    trusted: bool
    registrations: Mapping[str, int]
    odd: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class FleetFigures:
    """The fleet as gauges show it.

    Attributes:
        generation: The generation in force.
        last_success: Epoch second of the last good read of the source; None before the first.
        config_hash: 12 hex over the documents in force.
        source: `files`, `consul`, or `disk` where a copy stands in.
        documents: How many, by kind and state; every state present.
        versions: Every version in force.
        services: Every service that contracts name.
    """

    generation: int
    last_success: float | None
    config_hash: str
    source: str
    documents: Mapping[tuple[str, str], int]
    versions: tuple[VersionFigures, ...]
    services: tuple[ServiceFigures, ...] = ()


class FleetGauges(Collector):
    """Turns the fleet's figures into gauges at each scrape.

    Args:
        registry: Where the gauges are collected from.
        figures: Gives the figures of the moment; may be called in any thread.
    """

    def __init__(self, registry: CollectorRegistry, figures: Callable[[], FleetFigures]) -> None:
        self._figures = figures
        registry.register(self)

    def describe(self) -> list[Metric]:
        """Name nothing ahead: there may be no figures yet."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Show the figures of this moment."""
        figures = self._figures()
        yield GaugeMetricFamily("gateway_config_generation", "Generation in force.", value=figures.generation)
        if figures.last_success is not None:
            yield GaugeMetricFamily(
                "gateway_config_last_success_timestamp_seconds",
                "Last good read of the source, changed or not.",
                value=figures.last_success,
            )
        info = GaugeMetricFamily("gateway_config_info", "The documents in force.", labels=("hash", "source"))
        info.add_metric((figures.config_hash, figures.source), 1)
        yield info
        documents = GaugeMetricFamily("gateway_config_documents", "Documents by state.", labels=("kind", "state"))
        for labels, number in figures.documents.items():
            documents.add_metric(labels, number)
        yield documents
        yield from _versions(figures.versions)
        yield from _services(figures.services)


def _versions(versions: tuple[VersionFigures, ...]) -> Iterator[Metric]:
    both = ("model", "version")
    instances = GaugeMetricFamily(
        "gateway_instances", "Instances by identity and liveness.", labels=(*both, "identity", "liveness")
    )
    observe = GaugeMetricFamily("gateway_enforcement_observe", "1: identity is only watched.", labels=both)
    share = GaugeMetricFamily("gateway_route_share_ratio", "Wanted share of unnamed requests, 0 to 1.", labels=both)
    panic = GaugeMetricFamily("gateway_liveness_panic", "1: outliers are used again.", labels=both)
    for figures in versions:
        key = (figures.model_id, figures.version)
        for state, number in figures.instances.items():
            instances.add_metric((*key, *state), number)
        observe.add_metric(key, float(figures.observe))
        panic.add_metric(key, float(figures.panic))
        if figures.share is not None:
            share.add_metric(key, figures.share)
    yield from (instances, observe, share, panic)


def _services(services: tuple[ServiceFigures, ...]) -> Iterator[Metric]:
    trusted = GaugeMetricFamily(
        "gateway_catalogue_trusted", "1: the list of a service is taken at its word.", labels=("service",)
    )
    registrations = GaugeMetricFamily(
        "gateway_catalogue_registrations", "Registrations by state.", labels=("service", "state")
    )
    odd = GaugeMetricFamily(
        "gateway_catalogue_odd_registrations", "Registrations that are odd.", labels=("service", "oddity")
    )
    for figures in services:
        trusted.add_metric((figures.service,), float(figures.trusted))
        for state, number in figures.registrations.items():
            registrations.add_metric((figures.service, state), number)
        for oddity, number in figures.odd.items():
            odd.add_metric((figures.service, oddity), number)
    yield from (trusted, registrations, odd)
