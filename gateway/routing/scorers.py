"""How well instances suit a request, among those that may take it."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.routing.snapshot import Instance
from inference_dna.dna import RUNTIME_LENGTH, common_prefix

SLOW_START_S = 30.0
SLOW_START_SHARE = 0.1
"""Share of its weight that an instance starts with: caches are cold."""


def closest(instances: Sequence[Instance], dna_wish: str) -> Sequence[Instance]:
    """Keep those that share the longest beginning with the wished DNA; order stays."""
    shared = [nearness(instance, dna_wish) for instance in instances]
    best = max(shared)
    return [instance for instance, length in zip(instances, shared, strict=True) if length == best]


def nearness(instance: Instance, dna_wish: str) -> int:
    """Count the characters an instance shares with the wished DNA, 0 to 8: what follows names inputs, not runtimes."""
    runtime, wished = (instance.dna or "")[:RUNTIME_LENGTH], dna_wish[:RUNTIME_LENGTH]
    return len(runtime) if runtime == wished else common_prefix(runtime, wished)


def effective_weight(instance: Instance, *, now: float, slow_start_s: float) -> float:
    """The weight of an instance, less while it has only just become ready."""
    age = now - instance.ready_since
    if age >= slow_start_s:
        return instance.weight
    return instance.weight * (SLOW_START_SHARE + (1 - SLOW_START_SHARE) * max(age, 0.0) / slow_start_s)
