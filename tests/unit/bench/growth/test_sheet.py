from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from bench.machine import Machine
from bench.places import LATEST
from bench.report.page import blocks
from bench.report.sheet import growth_ratios, growth_sheet
from bench.results import ClosedRepeat, Growth, GrowthRow, OpenRepeat, Results, read_results, write_results

MACHINE = Machine("A Processor", 2, 8.0, "6.1", "3.11.7", 0.1, "proxy on core 0, upstream on core 1, load on core 1")


def row(axis: str, size: int, *cpu_us: float, first_us: Sequence[float] = ()) -> GrowthRow:
    """What a request cost in each round, and what one onto the first fleet cost right after that."""
    return GrowthRow(
        axis=axis,
        size=size,
        ready_s=1.5 if cpu_us else None,
        probe_interval_s=5.0 * size,
        rss_mib=80.0 if cpu_us else 0.0,
        repeats=list(map(closed, cpu_us)),
        open=[OpenRepeat(2_000, 2_000, 0.2, 0.7, 0.9, late_ms=0.01, failures=0) for _ in cpu_us],
        closed_dials=[0.0 for _ in cpu_us],
        open_dials=[0.025 for _ in cpu_us],
        beside=list(map(closed, first_us)),
    )


def closed(cpu_us: float) -> ClosedRepeat:
    return ClosedRepeat(1e6 / cpu_us, 0.9, 1.2, cpu_us, busy=1.0, foreign=0.0, failures=0)


def growth(*rows: GrowthRow, rounds: int) -> Growth:
    return Growth("2025-01-31T12:00:00+00:00", MACHINE, "wrk 4.1.0", 32, list(rows), seconds=2, rounds=rounds)


def test_a_fleet_is_compared_with_what_was_measured_beside_it() -> None:
    """Not with the first row's own visit: by then the machine may have another speed."""
    measured = growth(
        row("contracts", 1, 20.0, 20.0), row("contracts", 10, 40.0, 80.0, first_us=[20.0, 80.0]), rounds=2
    )

    assert [growth_ratios(each) for each in measured.rows] == [[], [0.5, 1.0]]


def test_a_row_says_medians_with_their_ranges() -> None:
    first, larger = growth_sheet(
        growth(row("contracts", 1, 20, 80), row("contracts", 10, 40, 80, first_us=[20, 80]), rounds=2)
    ).rows

    both = ("1.20 / 0.70", "0.0% / 2.5%", "80", "1.5")
    assert first == ("1 contract", "31,250 (12,500–50,000)", "50.0 (20.0–80.0)", "–", *both, "5", "0%", "0")
    assert larger[:4] == ("10 contracts", "18,750 (12,500–25,000)", "60.0 (40.0–80.0)", "0.75 (0.50–1.00)")


def test_one_round_has_no_ranges() -> None:
    (cells,) = growth_sheet(growth(row("instances", 10, 25, first_us=[20]), rounds=1)).rows

    assert cells[:4] == ("10 instances", "40,000", "25.0", "0.80")


def test_a_fleet_that_was_not_verified_in_time_says_so() -> None:
    (cells,) = growth_sheet(growth(row("instances", 10_000), rounds=1)).rows

    assert cells == ("10,000 instances", *["–"] * 6, "not in time", "50,000", "–", "–")


def test_what_failed_in_either_loop_is_counted() -> None:
    measured = row("instances", 10, 25.0)
    failed = msgspec.structs.replace(
        measured,
        repeats=[msgspec.structs.replace(measured.repeats[0], failures=2)],
        open=[msgspec.structs.replace(measured.open[0], failures=3)],
    )

    assert growth_sheet(growth(failed, rounds=1)).rows[0][-1] == "5"


def test_the_page_says_how_it_was_measured() -> None:
    assert "Closed loop by wrk 4.1.0. 2 rounds of 2 s each.\n" in blocks(Results(growth=growth(rounds=2)))["growth"]


def test_results_from_before_the_rounds_are_read_and_not_compared(tmp_path: Path) -> None:
    path = tmp_path / "latest.json"
    write_results(
        path, Results(growth=growth(row("instances", 1, 20.0), row("instances", 10, 25.0, first_us=[20.0]), rounds=1))
    )
    written = msgspec.json.decode(path.read_bytes())
    del written["growth"]["seconds"], written["growth"]["rounds"]
    for each in written["growth"]["rows"]:
        del each["beside"]
    path.write_bytes(msgspec.json.encode(written))

    old = read_results(path).growth

    assert old is not None
    assert [cells[3] for cells in growth_sheet(old).rows] == ["–", "–"]
    assert "rounds of" not in blocks(Results(growth=old))["growth"]


def test_the_results_of_this_repository_can_be_read() -> None:
    kept = read_results(LATEST).growth

    assert kept is not None
    assert len(growth_sheet(kept).rows) == len(kept.rows) > 0
