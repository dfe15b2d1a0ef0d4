from __future__ import annotations

import msgspec

from bench.growth.fleet import Fleet
from bench.growth.rounds import growth_row
from bench.growth.served import Visit
from bench.results import ClosedRepeat, GrowthRow, OpenRepeat


def visit(cpu_us: float, *, has_yardstick: bool = True) -> Visit:
    closed = ClosedRepeat(1e6 / cpu_us, 0.9, 1.2, cpu_us, busy=1.0, foreign=0.0, failures=0)
    opened = OpenRepeat(2_000, 2_000, 0.2, cpu_us / 100, 0.9, late_ms=0.01, failures=0)
    beside = msgspec.structs.replace(closed, cpu_us=cpu_us / 2) if has_yardstick else None
    return Visit(closed, cpu_us / 1_000, beside, opened, cpu_us / 100)


def test_a_row_keeps_what_was_measured_in_the_order_of_the_rounds() -> None:
    first, second = visit(40.0), visit(30.0)

    row = growth_row(Fleet("instances", 10), [first, second], ready_s=1.5, rss_mib=80.0)

    assert (row.axis, row.size, row.ready_s, row.probe_interval_s, row.rss_mib) == ("instances", 10, 1.5, 50.0, 80.0)
    assert row.repeats == [first.closed, second.closed]
    assert row.open == [first.open, second.open]
    assert (row.closed_dials, row.open_dials) == ([0.04, 0.03], [0.4, 0.3])
    assert row.beside == [first.beside, second.beside]


def test_the_yardstick_itself_has_nothing_beside_it() -> None:
    row = growth_row(Fleet("contracts", 1), [visit(40.0, has_yardstick=False)], ready_s=1.5, rss_mib=80.0)

    assert len(row.repeats) == 1
    assert row.beside == []


def test_a_fleet_that_was_not_verified_has_a_row_without_repeats() -> None:
    row = growth_row(Fleet("contracts", 10_000), (), ready_s=None, rss_mib=0.0)

    assert row == GrowthRow("contracts", 10_000, None, 50_000.0, 0.0, [])
