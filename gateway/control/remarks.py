"""What verdicts leave to count and to remark: each verdict is counted, each remark told once per instance."""

from __future__ import annotations

from collections.abc import Callable

from contracts.verdict import Verdict, VerdictKind
from gateway.control.standing import InstanceKey, Tracked
from gateway.control.transitions import instance_noted
from gateway.telemetry.changes import Listener
from gateway.telemetry.metrics import Metrics


class Remarks:
    """Counts verdicts and remembers which remarks were told.

    Args:
        metrics: Counts.
        listener: Is told each remark.
        generation: Gives the generation in force.
    """

    def __init__(self, metrics: Metrics, listener: Listener, generation: Callable[[], int]) -> None:
        self._metrics = metrics
        self._listener = listener
        self._generation = generation
        self._told: dict[InstanceKey, set[str]] = {}

    def take(self, key: InstanceKey, one: Tracked | None, verdict: Verdict, *, source: str) -> None:
        """Count a verdict, and tell what a match left to remark; `one` is None for an instance that left."""
        model_id, version, _ = key
        kind = "none" if verdict.kind is VerdictKind.ABSENT else verdict.kind.value
        self._metrics.identity_checked(model_id, version, source=source, verdict=kind, assurance=verdict.assurance)
        if one is None or verdict.kind is not VerdictKind.MATCH:
            return
        for note in verdict.notes:
            self._metrics.identity_noted(model_id, version, note)
            told = self._told.setdefault(key, set())
            if note not in told:
                told.add(note)
                self._listener(instance_noted(one, note, source=source, generation=self._generation()))

    def forget(self, key: InstanceKey) -> None:
        """Forget what was told of an instance that left."""
        self._told.pop(key, None)
