"""Names, labels and help texts of what is counted, and the way into prometheus_client (operations.md section 1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from gateway.telemetry.counts import Distribution, ProcessCounts, VersionCounts

VERSION_LABELS = ("model", "version")
Key = tuple[str, str]
"""Model id and printed version."""


class Said(NamedTuple):
    """How one field of the counts is shown."""

    field: str
    name: str
    help: str
    labels: tuple[str, ...] = ()


VERSION_NUMBERS = (
    Said("attempts", "gateway_upstream_attempts", "Attempts sent to workers."),
    Said("budget_exhausted", "gateway_retry_budget_exhausted", "Repeats refused for want of budget."),
    Said("canary_returned", "gateway_canary_returned", "Canary requests given back to the default."),
    Said("deprecated", "gateway_deprecated_requests", "Requests to a deprecated version."),
    Said("dials", "gateway_upstream_dials", "Connections to workers that were dialled because none was idle."),
    Said("stale_reuse", "gateway_stale_reuse", "Kept connections that the worker had closed."),
)
VERSION_COUNTERS = (
    Said("requests", "gateway_requests", "Answers sent to clients.", ("reason", "code_class")),
    Said("decisions", "gateway_route_decisions", "Routing decisions, rejections among them.", ("reason",)),
    Said(
        "identity_checks",
        "gateway_identity_checks",
        "Verdicts on what workers stated.",
        ("source", "verdict", "assurance"),
    ),
    Said("identity_notes", "gateway_identity_notes", "Matches of workers that stamp something wrongly.", ("note",)),
    Said("ejections", "gateway_ejections", "Instances ejected for their identity.", ("source",)),
    Said("upstream_errors", "gateway_upstream_errors", "Attempts that failed.", ("kind",)),
    Said("streams_failed", "gateway_streams_failed", "Answers cut after their head.", ("kind",)),
)
VERSION_DISTRIBUTIONS = (
    Said("duration", "gateway_request_duration_seconds", "First byte in to last byte out."),
    Said("first_byte", "gateway_time_to_first_byte_seconds", "First byte in to first byte out."),
)
PROCESS_NUMBERS = (
    Said("trailers_dropped", "gateway_trailers_dropped", "Trailers of requests dropped."),
    Said("watch_restarts", "gateway_watch_restarts", "Restarts of the loop that reads the source."),
    Said("alerts_dropped", "gateway_alerts_dropped", "Alerts that found no room."),
)
PROCESS_COUNTERS = (
    Said("probe_failures", "gateway_probe_failures", "Probes that failed.", ("kind",)),
    Said("refused", "gateway_requests_refused", "Requests refused for framing or a limit.", ("kind",)),
    Said("client_disconnects", "gateway_client_disconnects", "Clients that left early.", ("phase",)),
    Said("config_rejected", "gateway_config_rejected", "Documents refused.", ("kind", "reason")),
    Said("config_suspicious", "gateway_config_suspicious", "Readings that look like an accident.", ("cause",)),
)
PROCESS_DISTRIBUTIONS = (
    Said("overhead", "gateway_overhead_seconds", "What the gateway added to the worker's time."),
    Said("probe_duration", "gateway_probe_duration_seconds", "Time of a probe."),
    Said("loop_lag", "gateway_event_loop_lag_seconds", "How late the event loop ran a timer."),
)


def expose_versions(versions: Mapping[Key, VersionCounts]) -> Iterator[Metric]:
    """Show the counts of all versions; one that is only probed does without the series of requests."""
    asked = {key: counts for key, counts in versions.items() if counts.was_asked}
    in_flight = GaugeMetricFamily("gateway_requests_in_flight", "Requests being answered now.", labels=VERSION_LABELS)
    for key, counts in asked.items():
        in_flight.add_metric(key, counts.in_flight)
    yield in_flight
    for said in VERSION_NUMBERS:
        yield _counters(said, ((key, getattr(counts, said.field)) for key, counts in asked.items()), VERSION_LABELS)
    for said in VERSION_COUNTERS:
        rows = (
            ((*key, *labels), value)
            for key, counts in versions.items()
            for labels, value in list(getattr(counts, said.field).items())
        )
        yield _counters(said, rows, (*VERSION_LABELS, *said.labels))
    for said in VERSION_DISTRIBUTIONS:
        yield _histogram(said, ((key, getattr(counts, said.field)) for key, counts in asked.items()), VERSION_LABELS)


def expose_process(counts: ProcessCounts) -> Iterator[Metric]:
    """Show the counts of the process."""
    for said in PROCESS_NUMBERS:
        yield _counters(said, [((), getattr(counts, said.field))], ())
    for said in PROCESS_COUNTERS:
        yield _counters(said, list(getattr(counts, said.field).items()), said.labels)
    for said in PROCESS_DISTRIBUTIONS:
        yield _histogram(said, [((), getattr(counts, said.field))], ())


def _counters(
    said: Said, rows: Iterable[tuple[tuple[str, ...], float]], labels: tuple[str, ...]
) -> CounterMetricFamily:
    family = CounterMetricFamily(said.name, said.help, labels=labels)
    for values, number in rows:
        family.add_metric(values, number)
    return family


def _histogram(
    said: Said, rows: Iterable[tuple[tuple[str, ...], Distribution]], labels: tuple[str, ...]
) -> HistogramMetricFamily:
    family = HistogramMetricFamily(said.name, said.help, labels=labels)
    for values, distribution in rows:
        family.add_metric(values, distribution.cumulative(), distribution.total)
    return family
