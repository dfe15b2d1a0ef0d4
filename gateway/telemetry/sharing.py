"""Gauges of the verdicts shared between gateways, read off when scraped."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector, CollectorRegistry

from gateway.sharing.state import SharingState


class SharingGauges(Collector):
    """Turns the state of the sharing into gauges at each scrape.

    Args:
        registry: Where the gauges are collected from.
        state: Gives the state of the moment; may be called in any thread.
    """

    def __init__(self, registry: CollectorRegistry, state: Callable[[], SharingState]) -> None:
        self._state = state
        registry.register(self)

    def describe(self) -> list[Metric]:
        """Name nothing ahead, so that registering asks for no state."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Show this moment."""
        state = self._state()
        yield _gauge("members", "Gateways that share verdicts; 0 while this one is alone.", len(state.members))
        yield _gauge("probed_instances", "Instances that fall to this gateway.", state.probed)
        yield _gauge("doubted_elsewhere", "Instances kept out by what other gateways saw.", state.doubted_elsewhere)
        yield _gauge("left_out", "Sightings that found no room in this gateway's bulletin.", state.left_out)
        if state.heard_seconds_ago is not None:
            yield _gauge("heard_seconds", "Since Consul last answered.", state.heard_seconds_ago)


def _gauge(name: str, meaning: str, value: float) -> Metric:
    return GaugeMetricFamily(f"gateway_sharing_{name}", meaning, value=value)
