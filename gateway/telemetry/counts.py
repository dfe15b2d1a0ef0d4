"""The numbers behind the metrics, as plain integers that only the event loop's thread changes.

prometheus_client's own children lock on every increment and cost about a microsecond each; a request touches a dozen.
These cost a tenth, and `exposition.py` hands them to the client library when somebody scrapes.
"""

from __future__ import annotations

from collections.abc import Sequence

DURATION_BUCKETS = tuple(0.01 * 2**n for n in range(14))
"""Seconds: 0.01 doubling up to 81.92."""
FIRST_BYTE_BUCKETS = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
OVERHEAD_BUCKETS = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
PROBE_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0)
LAG_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)

PROBE_FAILURES = ("refused", "timeout", "status", "malformed")
PHASES = ("body", "head", "stream")

Count = dict[tuple[str, ...], int]
"""How often something happened, by the values of the labels that tell its kinds apart."""


def count(counts: Count, *kind: str) -> None:
    """Count one more of a kind."""
    counts[kind] = counts.get(kind, 0) + 1


class Distribution:
    """A histogram: how many values fell under each bound, and their sum."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count one value; a bound counts what is equal to it."""
        place = 0
        # In turn, not by halves: most values lie under the first bounds.
        for bound in self.bounds:
            if value <= bound:
                break
            place += 1
        self.counts[place] += 1
        self.total += value

    def cumulative(self) -> list[tuple[str, float]]:
        """Give the counts as Prometheus wants them: each with all below it, `+Inf` last."""
        seen = 0
        rows = []
        for bound, count in zip((*map(str, self.bounds), "+Inf"), list(self.counts), strict=True):
            seen += count
            rows.append((bound, float(seen)))
        return rows


class VersionCounts:
    """What is counted of one version. Keys of the counts are the values of the labels beside model and version.

    `deprecated_at`: epoch second from which the version is deprecated, None where it is not going to be.
    """

    __slots__ = (
        "attempts",
        "budget_exhausted",
        "canary_returned",
        "decisions",
        "deprecated",
        "deprecated_at",
        "dials",
        "duration",
        "ejections",
        "first_byte",
        "identity_checks",
        "identity_notes",
        "in_flight",
        "requests",
        "stale_reuse",
        "streams_failed",
        "upstream_errors",
    )

    def __init__(self, deprecated_at: float | None = None) -> None:
        self.deprecated_at = deprecated_at
        self.in_flight = 0
        self.attempts = 0
        self.budget_exhausted = 0
        self.canary_returned = 0
        self.deprecated = 0
        self.dials = 0
        self.stale_reuse = 0
        self.duration = Distribution(DURATION_BUCKETS)
        self.first_byte = Distribution(FIRST_BYTE_BUCKETS)
        self.requests: Count = {}
        self.decisions: Count = {}
        self.identity_checks: Count = {}
        self.identity_notes: Count = {}
        self.ejections: Count = {}
        self.upstream_errors: Count = {}
        self.streams_failed: Count = {}

    @property
    def was_asked(self) -> bool:
        """A request named it, or was under way when that was counted."""
        plain = (self.in_flight, self.attempts, self.budget_exhausted, self.canary_returned, self.stale_reuse)
        return any(plain) or bool(self.requests)


class ProcessCounts:
    """What is counted of the process as a whole."""

    def __init__(self) -> None:
        self.overhead = Distribution(OVERHEAD_BUCKETS)
        self.probe_duration = Distribution(PROBE_BUCKETS)
        self.loop_lag = Distribution(LAG_BUCKETS)
        self.trailers_dropped = 0
        self.watch_restarts = 0
        self.alerts_dropped = 0
        self.probe_failures: Count = {(kind,): 0 for kind in PROBE_FAILURES}
        self.refused: Count = {}
        self.client_disconnects: Count = {(phase,): 0 for phase in PHASES}
        self.config_rejected: Count = {}
        self.config_suspicious: Count = {}
