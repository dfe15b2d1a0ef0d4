"""Which changes raise an alert and which end it, and what Alertmanager's API v2 reads: pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from gateway.telemetry.changes import Change, ChangeKind

Labels = tuple[tuple[str, str], ...]
"""Name and value, sorted: what identifies an alert."""

EJECTED = "GatewayInstanceEjected"
REJECTED = "GatewayDocumentRejected"
UNSERVED = "GatewayNoVerifiedInstance"

_RAISED_BY = {
    ChangeKind.INSTANCE_EJECTED: EJECTED,
    ChangeKind.DOCUMENT_REJECTED: REJECTED,
    ChangeKind.VERSION_UNSERVED: UNSERVED,
}
_ENDED_BY = {
    ChangeKind.INSTANCE_READMITTED: EJECTED,
    ChangeKind.INSTANCE_VERIFIED: EJECTED,
    ChangeKind.INSTANCE_UNVERIFIED: EJECTED,
    ChangeKind.INSTANCE_REMOVED: EJECTED,
    ChangeKind.DOCUMENT_MENDED: REJECTED,
    ChangeKind.DOCUMENT_MISSING: REJECTED,
    ChangeKind.DOCUMENT_REMOVED: REJECTED,
    ChangeKind.VERSION_SERVED: UNSERVED,
    ChangeKind.VERSION_WITHDRAWN: UNSERVED,
}
_SEVERITY = {EJECTED: "critical", REJECTED: "warning", UNSERVED: "critical"}


@dataclass(frozen=True, slots=True)
class AlertSettings:
    """Numbers of the pusher, times in seconds."""

    repeat_s: float = 60.0
    """Between two posts of what lasts; below the receiver's own time to forget, which is 5 minutes by default."""
    timeout_s: float = 5.0
    backoff_s: float = 1.0
    """First pause after a failure; it doubles."""
    backoff_cap_s: float = 60.0
    capacity: int = 1000
    """Alerts that may last, or wait to be told of their end; more are dropped and counted."""


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert.

    Attributes:
        labels: What identifies it.
        summary: One sentence.
        description: What else is known.
        starts_at: Epoch second.
        ends_at: Epoch second; None while it lasts.
    """

    labels: Labels
    summary: str
    description: str
    starts_at: float
    ends_at: float | None = None

    def ended(self, at: float) -> Alert:
        """The same alert, over."""
        return replace(self, ends_at=at)


def raised_by(change: Change, *, gateway: str, at: float) -> Alert | None:
    """Make the alert that a change raises; None for changes that raise none."""
    name = _RAISED_BY.get(change.kind)
    if name is None:
        return None
    facts = {"DNA": change.dna, "digest": change.digest, "seen by": change.source, "generation": change.generation}
    description = ", ".join(f"{fact} {value}" for fact, value in facts.items() if value not in (None, ""))
    return Alert(_labels(name, change, gateway), _SUMMARIES[name](change), description, at)


def ended_by(change: Change, *, gateway: str) -> Labels | None:
    """Give the labels of the alert that a change ends; None for changes that end none."""
    name = _ENDED_BY.get(change.kind)
    return _labels(name, change, gateway) if name else None


_SUMMARIES = {
    EJECTED: lambda c: f"{c.instance} was ejected from {c.model_id} {c.version}: {c.reason}",
    REJECTED: lambda c: f"The document {c.key} is refused, its last good state serves: {c.reason}",
    UNSERVED: lambda c: f"{c.model_id} {c.version} has no instance that may answer: {c.reason}",
}


def _labels(name: str, change: Change, gateway: str) -> Labels:
    about = {"document": change.key} if name == REJECTED else {"model": change.model_id, "version": change.version}
    labels = {"alertname": name, "severity": _SEVERITY[name], "gateway": gateway, **about}
    if name == EJECTED:
        labels["instance"] = change.instance
    return tuple(sorted(labels.items()))


def to_json(alert: Alert, *, generator_url: str) -> dict[str, Any]:
    """Write an alert as Alertmanager's API v2 reads it."""
    told: dict[str, Any] = {
        "labels": dict(alert.labels),
        "annotations": {"summary": alert.summary, "description": alert.description},
        "startsAt": _moment(alert.starts_at),
        "generatorURL": generator_url,
    }
    if alert.ends_at is not None:
        told["endsAt"] = _moment(alert.ends_at)
    return told


def _moment(epoch_s: float) -> str:
    return datetime.fromtimestamp(epoch_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
