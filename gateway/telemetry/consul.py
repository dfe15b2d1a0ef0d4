"""What is measured of reading Consul, read off when scraped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector, CollectorRegistry


class Followed(Protocol):
    """A source in Consul, as it is measured."""

    @property
    def seen_index(self) -> int:
        """The last index that came."""
        ...

    @property
    def applied_index(self) -> int:
        """The index of what was handed on last."""
        ...

    @property
    def errors(self) -> Mapping[str, int]:
        """Failed reads, by kind."""
        ...


class ConsulGauges(Collector):
    """Shows a source in Consul at each scrape.

    Args:
        registry: Where it is collected from.
        source: May be read in any thread.
    """

    def __init__(self, registry: CollectorRegistry, source: Followed) -> None:
        self._source = source
        registry.register(self)

    def describe(self) -> list[Metric]:
        """Name nothing ahead, so that registering asks for nothing."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Show this moment."""
        seen, applied = self._source.seen_index, self._source.applied_index
        yield GaugeMetricFamily("gateway_config_seen_index", "Last index that Consul gave.", value=seen)
        yield GaugeMetricFamily("gateway_config_applied_index", "Index of what is in force.", value=applied)
        errors = CounterMetricFamily("gateway_consul_errors", "Failed reads of Consul.", labels=("kind",))
        for kind, count in self._source.errors.items():
            errors.add_metric((kind,), count)
        yield errors
