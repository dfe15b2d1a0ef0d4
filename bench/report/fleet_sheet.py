"""The tables of the simulated fleet."""

from __future__ import annotations

from bench.report.sheet import NOTHING, Sheet
from bench.results import FleetRow, FleetSimulation, Times


def fleet_sheets(fleet: FleetSimulation) -> list[Sheet]:
    """What it costs the workers and Consul, how fast it is, and what becomes of it without Consul."""
    return [
        Sheet(
            f"Probes: {fleet.instances:,} instances, {fleet.probers} gateways probe each",
            ("gateways", "probes/s in all", "of one, median", "of the busiest", "for a new instance, in all"),
            tuple(_probes(row) for row in fleet.rows),
        ),
        Sheet(
            "Consul: while nothing happens, and in the half minute in which 60 instances drift",
            (
                "gateways", "writes/s in all", "writes/s of one", "renewals/s of one", "reads/s of one",
                "bytes/s of one",
                "writes/s in all, drifting", "KB/s of one, drifting",
            ),
            tuple(_consul(row) for row in fleet.rows),
        ),
        Sheet(
            "Seconds: least / median / most",
            (
                "gateways", "from drift to the first ejection", "from there to everywhere", "not everywhere",
                "a new instance admitted everywhere", "a dead gateway's share taken over", "not in 15 s",
            ),
            tuple(_seconds(row) for row in fleet.rows),
        ),
        Sheet(
            "Half of the gateways without Consul",
            (
                "gateways", "cut off", "alone after s", "probes/s of one cut off", "drift to ejected, the others, s",
                "drift to ejected, those cut off, s", "members once it is back", "still out then",
            ),
            tuple(_partition(row) for row in fleet.rows),
        ),
    ]  # fmt: skip


def _probes(row: FleetRow) -> tuple[str, ...]:
    each = (row.probes_per_s, row.probes_per_s_of_one, row.probes_per_s_of_busiest)
    return (f"{row.gateways:,}", *(f"{figure:,.1f}" for figure in each), f"{row.probes_of_a_new_instance:.0f}")


def _consul(row: FleetRow) -> tuple[str, ...]:
    of_one = (row.quiet_writes_per_s, row.renewals_per_s, row.quiet_reads_per_s)
    return (
        f"{row.gateways:,}",
        f"{row.quiet_writes_per_s:,.1f}",
        *(f"{figure / row.gateways:.2f}" for figure in of_one),
        f"{row.quiet_bytes_per_s / row.gateways:,.0f}",
        f"{row.drifting_writes_per_s:,.1f}",
        f"{row.drifting_bytes_per_s / row.gateways / 1000:,.1f}",
    )


def _seconds(row: FleetRow) -> tuple[str, ...]:
    times = (row.first_ejection, row.ejected_everywhere)
    later = (row.admitted_everywhere, row.taken_over)
    missed = (str(row.not_ejected_everywhere), f"{row.not_taken_over:,}")
    return (f"{row.gateways:,}", *map(_shown, times), missed[0], *map(_shown, later), missed[1])


def _partition(row: FleetRow) -> tuple[str, ...]:
    seen = row.partition
    return (
        f"{row.gateways:,}",
        f"{seen.cut:,}",
        _shown(seen.alone),
        f"{seen.probes_per_s_of_one_cut_off:,.0f}",
        _shown(seen.ejected_where_connected),
        _shown(seen.ejected_where_cut_off),
        f"{seen.members_afterwards:,} of {seen.living:,}",
        str(seen.out_afterwards),
    )


def _shown(times: Times | None) -> str:
    if times is None:
        return NOTHING
    return f"{times.least:.2f} / {times.median:.2f} / {times.most:.2f}"
