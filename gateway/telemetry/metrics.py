"""What is counted, and under which version (operations.md section 1).

Rules of this file: no label ever holds text from a client, a DNA, a path or an address; a model or version that no
document names counts as `unknown`; what leaves the documents leaves the registry.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector, CollectorRegistry

from gateway.telemetry.access import AccessRecord
from gateway.telemetry.changes import Change, ChangeKind
from gateway.telemetry.counts import ProcessCounts, VersionCounts, count
from gateway.telemetry.exposition import Key, expose_process, expose_versions

UNKNOWN = "unknown"
_REJECTED = "rejected"
_LOCAL = "local"
"""Answered by the gateway itself, such as a list of models."""
_CODE_CLASSES: Final = tuple(f"{first}xx" for first in range(10))


@dataclass(slots=True)
class _Model:
    """What is known and counted of one model; versions get their counts when there is something to count."""

    deprecated_at: Mapping[str, float | None] = field(default_factory=dict)
    counts: dict[str, VersionCounts] = field(default_factory=dict)


def _none_dropped() -> int:
    return 0


class Metrics(Collector):
    """All counts of one process, on a registry that is handed in.

    Methods are named after what happened. Only the event loop's thread calls them; a scrape may run in any thread.

    Args:
        registry: Where the counts are collected from.
        build: Version of this program.
        lines_dropped: Says how many log lines were lost.
    """

    def __init__(
        self, registry: CollectorRegistry, *, build: str, lines_dropped: Callable[[], int] = _none_dropped
    ) -> None:
        self.process = ProcessCounts()
        self._build = build
        self._lines_dropped = lines_dropped
        self._unknown = VersionCounts()
        self._models: dict[str, _Model] = {}
        registry.register(self)

    def describe(self) -> list[Metric]:
        """Name nothing ahead, so that registering collects nothing."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Show all counts of this moment."""
        counts: dict[Key, VersionCounts] = {(UNKNOWN, UNKNOWN): self._unknown}
        for model_id, model in list(self._models.items()):
            counts.update({(model_id, version): found for version, found in list(model.counts.items())})
        yield from expose_versions(counts)
        yield from expose_process(self.process)
        dropped = CounterMetricFamily("gateway_log_lines_dropped", "Log lines that found no room.")
        dropped.add_metric((), self._lines_dropped())
        yield dropped
        build = GaugeMetricFamily("gateway_build_info", "What runs here.", labels=("version", "python"))
        build.add_metric((self._build, platform.python_version()), 1)
        yield build

    # documents ----------------------------------------------------------------------------------------------------

    def keep(self, model_id: str, versions: Mapping[str, float | None]) -> None:
        """Know these versions of a model and forget its others with their series; none: forget the model.

        Args:
            model_id: The model.
            versions: By printed version, the epoch second from which it is deprecated, or None.
        """
        model = self._models.setdefault(model_id, _Model())
        model.deprecated_at = versions
        model.counts = {version: counts for version, counts in model.counts.items() if version in {*versions, UNKNOWN}}
        for version, counts in model.counts.items():
            counts.deprecated_at = versions.get(version)
        if not versions:
            del self._models[model_id]

    def of(self, model_id: str | None, version: str | None) -> VersionCounts:
        """Find the counts of a version; of its model or of `unknown` where no document names it."""
        model = self._models.get(model_id) if model_id else None
        if model is None:
            return self._unknown
        known = version if version in model.deprecated_at else None
        found = model.counts.get(known or UNKNOWN)
        if found is None:
            found = model.counts[known or UNKNOWN] = VersionCounts(model.deprecated_at.get(known or UNKNOWN))
        return found

    def change(self, change: Change) -> None:
        """Count one change; a `Listener`."""
        match change.kind:
            case ChangeKind.INSTANCE_EJECTED:
                count(self.of(change.model_id, change.version).ejections, change.source)
            case ChangeKind.DOCUMENT_REJECTED:
                kind = "route" if change.key.startswith("routes/") else "contract"
                count(self.process.config_rejected, kind, change.cause)
            case ChangeKind.REMOVALS_HELD:
                count(self.process.config_suspicious, change.cause)
            case _:
                return

    # the data plane -----------------------------------------------------------------------------------------------

    def finished(self, record: AccessRecord, *, upstream_s: float = 0.0, counts: VersionCounts | None = None) -> None:
        """Count a request that ended.

        Args:
            record: What is logged of it.
            upstream_s: How much of its time was the worker's.
            counts: Of its version, where they are at hand.
        """
        status, attempts = record.status, record.attempts
        if counts is None:
            counts = self.of(record.model_id, record.version)
        reason = record.route_reason or (_REJECTED if status >= 400 else _LOCAL)
        count(counts.requests, reason, _CODE_CLASSES[status // 100])
        if attempts or status >= 400:
            was_routed = attempts or record.code == "client_left"
            count(counts.decisions, reason if was_routed else _REJECTED)
        duration_s = record.duration_ms / 1000
        counts.duration.observe(duration_s)
        if record.ttfb_ms is not None:
            counts.first_byte.observe(record.ttfb_ms / 1000)
        if attempts:
            self.process.overhead.observe(max(duration_s - upstream_s, 0.0))
        if counts.deprecated_at is not None and record.ts.timestamp() >= counts.deprecated_at:
            counts.deprecated += 1

    def refused(self, kind: str) -> None:
        """Count a request refused for its framing or a limit."""
        count(self.process.refused, kind)

    def trailers_dropped(self, number: int) -> None:
        """Count trailers that were dropped."""
        self.process.trailers_dropped += number

    def client_left(self, phase: str) -> None:
        """Count a client that left before its answer was complete: in `body`, `head` or `stream`."""
        count(self.process.client_disconnects, phase)

    # the control plane --------------------------------------------------------------------------------------------

    def identity_checked(
        self, model_id: str, version: str, *, source: str, verdict: str, assurance: str | None
    ) -> None:
        """Count a verdict; `source` is `probe` or `response`, `verdict` `none` where nothing was said of identity."""
        count(self.of(model_id, version).identity_checks, source, verdict, assurance or "none")

    def identity_noted(self, model_id: str, version: str, note: str) -> None:
        """Count what a match left to remark: a worker that stamps wrongly (dna.md section 10)."""
        count(self.of(model_id, version).identity_notes, note)

    def probed(self, seconds: float, failure: str | None) -> None:
        """Count a probe, with the kind of its failure where it failed."""
        self.process.probe_duration.observe(seconds)
        if failure is not None:
            count(self.process.probe_failures, failure)

    def watch_restarted(self) -> None:
        """Count a restart of the loop that reads the source."""
        self.process.watch_restarts += 1

    def reading_odd(self, cause: str) -> None:
        """Count a reply of the source that looks like an accident."""
        count(self.process.config_suspicious, cause)

    def alert_dropped(self) -> None:
        """Count an alert that found no room."""
        self.process.alerts_dropped += 1

    def loop_lagged(self, seconds: float) -> None:
        """Count how late the event loop ran a timer."""
        self.process.loop_lag.observe(seconds)
