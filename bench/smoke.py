"""The smoke run: a short comparison whose only question is whether anything is broken. Speed never fails it."""

from __future__ import annotations

from collections.abc import Iterator

from bench.peers.gateway import NAME
from bench.plan import Plan
from bench.results import Comparison, Figures, FleetRow, FleetSimulation

PLAN = Plan(seconds=1, rounds=1, connections=(1, 32), streams=20, patience_s=0)
BESIDE = "nginx"
SMOKE_GB = 0.05
"""Size of the folders that every tool hashes; a run this small says nothing of speed."""
LEAST_RECORDS = 0.99
SMOKE_SIZES, SMOKE_INSTANCES = (1, 8), 200
"""Of the simulated fleet: seconds, and every chapter of its story is told."""
EVERYWHERE_S, TAKEN_OVER_S = 2.0, 10.0
"""What the fleet promises, whatever its size."""


def faults(comparison: Comparison) -> list[str]:
    """What is broken, one sentence each; nothing of it is about speed."""
    ours = comparison.of(NAME)
    if ours is None:
        return [f"{NAME} did not start: {comparison.skipped.get(NAME, 'no reason known')}"]
    return [*_closed(ours), *_open(ours), *_streams(ours), *_records(comparison)]


def fleet_faults(fleet: FleetSimulation) -> list[str]:
    """What many gateways that share verdicts do not keep of what they promise."""
    return [f"with {row.gateways} gateways {fault}" for row in fleet.rows for fault in _broken_promises(row)]


def _broken_promises(row: FleetRow) -> Iterator[str]:
    if row.not_ejected_everywhere:
        yield f"{row.not_ejected_everywhere} drifted instances were not ejected everywhere"
    if row.ejected_everywhere is not None and row.ejected_everywhere.most > EVERYWHERE_S:
        yield f"an ejection took {row.ejected_everywhere.most:.1f} s to be everywhere"
    if row.taken_over is not None and row.taken_over.most > TAKEN_OVER_S:
        yield f"the share of a dead gateway was taken over after {row.taken_over.most:.1f} s"
    if row.not_taken_over:
        yield f"{row.not_taken_over} instances of a dead gateway were not taken over"
    if row.partition.members_afterwards != row.partition.living:
        yield f"only {row.partition.members_afterwards} of {row.partition.living} found together again"
    if row.partition.out_afterwards:
        yield f"{row.partition.out_afterwards} instances were still out after everything was well again"


def _closed(ours: Figures) -> list[str]:
    found = []
    for size, repeats in ours.closed.items():
        failures = sum(repeat.failures for repeat in repeats)
        if failures:
            found.append(f"{failures} requests failed in the closed loop at {size} connections")
        if any(repeat.requests_per_s == 0 for repeat in repeats):
            found.append(f"nothing was answered in the closed loop at {size} connections")
    return found or ([] if ours.closed else ["the closed loop was not measured"])


def _open(ours: Figures) -> list[str]:
    failures = sum(repeat.failures for repeat in ours.open)
    if not ours.open:
        return ["the open loop was not measured"]
    return [f"{failures} requests failed in the open loop"] if failures else []


def _streams(ours: Figures) -> list[str]:
    if not ours.streams:
        return ["streams were not measured"]
    lost = sum(repeat.lost for repeat in ours.streams)
    found = [f"{lost} streams broke or brought nothing"] if lost else []
    return found + (["no event came through"] if any(repeat.events == 0 for repeat in ours.streams) else [])


def _records(comparison: Comparison) -> list[str]:
    records = comparison.records_per_request
    if records is None or records < LEAST_RECORDS:
        return [f"access records per request: {records if records is not None else 'none'}"]
    return []
