"""What is counted, and under which version (operations.md section 1).

Rules of this file: no label ever holds text from a client, a DNA, a path or an address; a model or version that no
document names counts as `unknown`; what leaves the documents leaves the registry.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector, CollectorRegistry

from gateway.telemetry.access import AccessRecord
from gateway.telemetry.changes import Change, ChangeKind
from gateway.telemetry.counts import ProcessCounts, VersionCounts
from gateway.telemetry.exposition import Key, expose_process, expose_versions

UNKNOWN = "unknown"
_REJECTED = "rejected"
_LOCAL = "local"
"""Answered by the gateway itself, such as a list of models."""
_CODE_CLASSES = tuple(f"{first}xx" for first in range(10))


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
            found = model.counts[known or UNKNOWN] = VersionCounts()
        return found

    def change(self, change: Change) -> None:
        """Count one change; a `Listener`."""
        match change.kind:
            case ChangeKind.INSTANCE_EJECTED:
                self.of(change.model_id, change.version).ejections[(change.source,)] += 1
            case ChangeKind.DOCUMENT_REJECTED:
                kind = "route" if change.key.startswith("routes/") else "contract"
                self.process.config_rejected[kind, change.cause] += 1
            case ChangeKind.REMOVALS_HELD:
                self.process.config_suspicious[(change.cause,)] += 1
            case _:
                return

    # the data plane -----------------------------------------------------------------------------------------------

    def started(self, model_id: str, version: str) -> None:
        """Count a request into flight."""
        self.of(model_id, version).in_flight += 1

    def ended(self, model_id: str, version: str) -> None:
        """Count a request out of flight; one that began before its version left the documents is not missed."""
        counts = self.of(model_id, version)
        counts.in_flight = max(counts.in_flight - 1, 0)

    def finished(self, record: AccessRecord, *, upstream_s: float) -> None:
        """Count a request that ended; `upstream_s` of its time was the worker's."""
        counts = self.of(record.model_id, record.version)
        reason = record.route_reason or (_REJECTED if record.status >= 400 else _LOCAL)
        counts.requests[reason, _CODE_CLASSES[record.status // 100]] += 1
        if record.attempts or record.status >= 400:
            was_routed = record.attempts or record.code == "client_left"
            counts.decisions[(reason if was_routed else _REJECTED,)] += 1
        duration_s = record.duration_ms / 1000
        counts.duration.observe(duration_s)
        if record.ttfb_ms is not None:
            counts.first_byte.observe(record.ttfb_ms / 1000)
        if record.attempts:
            self.process.overhead.observe(max(duration_s - upstream_s, 0.0))
        if record.version is not None and self._is_deprecated(record, record.version):
            counts.deprecated += 1

    def _is_deprecated(self, record: AccessRecord, version: str) -> bool:
        model = self._models.get(record.model_id or "")
        at = model.deprecated_at.get(version) if model else None
        return at is not None and record.ts.timestamp() >= at

    def attempt(self, model_id: str, version: str) -> None:
        """Count an attempt upstream."""
        self.of(model_id, version).attempts += 1

    def upstream_error(self, model_id: str, version: str, kind: str) -> None:
        """Count an attempt that failed."""
        self.of(model_id, version).upstream_errors[(kind,)] += 1

    def stale_reuse(self, model_id: str, version: str) -> None:
        """Count a kept connection that turned out to be closed."""
        self.of(model_id, version).stale_reuse += 1

    def budget_exhausted(self, model_id: str, version: str) -> None:
        """Count a repeat that the budget refused."""
        self.of(model_id, version).budget_exhausted += 1

    def stream_failed(self, model_id: str, version: str, kind: str) -> None:
        """Count an answer cut after its head: `truncated` or `identity_changed`."""
        self.of(model_id, version).streams_failed[(kind,)] += 1

    def canary_returned(self, model_id: str, version: str) -> None:
        """Count a canary request that went to the default for want of an instance."""
        self.of(model_id, version).canary_returned += 1

    def refused(self, kind: str) -> None:
        """Count a request refused for its framing or a limit."""
        self.process.refused[(kind,)] += 1

    def trailers_dropped(self, count: int = 1) -> None:
        """Count trailers that were dropped."""
        self.process.trailers_dropped += count

    def client_left(self, phase: str) -> None:
        """Count a client that left before its answer was complete: in `body`, `head` or `stream`."""
        self.process.client_disconnects[(phase,)] += 1

    # the control plane --------------------------------------------------------------------------------------------

    def identity_checked(
        self, model_id: str, version: str, *, source: str, verdict: str, assurance: str | None
    ) -> None:
        """Count a verdict; `source` is `probe` or `response`, `verdict` `none` where nothing was said of identity."""
        self.of(model_id, version).identity_checks[source, verdict, assurance or "none"] += 1

    def identity_noted(self, model_id: str, version: str, note: str) -> None:
        """Count what a match left to remark: a worker that stamps wrongly (dna.md section 10)."""
        self.of(model_id, version).identity_notes[(note,)] += 1

    def probed(self, seconds: float, failure: str | None) -> None:
        """Count a probe, with the kind of its failure where it failed."""
        self.process.probe_duration.observe(seconds)
        if failure is not None:
            self.process.probe_failures[(failure,)] += 1

    def watch_restarted(self) -> None:
        """Count a restart of the loop that reads the source."""
        self.process.watch_restarts += 1

    def alert_dropped(self) -> None:
        """Count an alert that found no room."""
        self.process.alerts_dropped += 1

    def loop_lagged(self, seconds: float) -> None:
        """Count how late the event loop ran a timer."""
        self.process.loop_lag.observe(seconds)
