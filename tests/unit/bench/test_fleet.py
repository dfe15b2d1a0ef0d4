"""The simulated fleet: it divides as the gateways do, tells the same story twice, and notices what is broken."""

from __future__ import annotations

from random import Random

import msgspec
import pytest

from bench.fleet import simulate
from bench.report.fleet_sheet import fleet_sheets
from bench.results import FleetSimulation, Times
from bench.simulated.clock import Clock
from bench.simulated.consul import SimulatedConsul
from bench.simulated.shares import Shares
from bench.simulated.world import World, key_of
from bench.smoke import SMOKE_INSTANCES, SMOKE_SIZES, fleet_faults
from gateway.sharing.division import Division, name_of
from gateway.sharing.pulse import watched_by
from tests.support.rendezvous import chosen

MEMBERS = [f"gateway-{number}~0" for number in range(12)]
KEYS = [key_of(number) for number in range(100)]


@pytest.fixture(scope="module")
def simulated() -> FleetSimulation:
    return simulate(SMOKE_SIZES, instances=SMOKE_INSTANCES)


def assert_divided(shares: Shares, names: list[str]) -> None:
    for number, key in enumerate(KEYS):
        assert {MEMBERS[one] for one in shares.probers(number)} == set(chosen(name_of(key), names, count=3))
    for number in shares.members:
        division = Division(MEMBERS[number], names)
        assert {KEYS[one] for one in shares.of[number]} == {key for key in KEYS if division.is_mine(key)}


def test_shares_are_those_that_gateways_work_out_whoever_comes_and_goes() -> None:
    shares = Shares(MEMBERS, [name_of(key) for key in KEYS], count=3)
    assert_divided(shares, MEMBERS)
    shares.leave([2, 7, 8])
    assert_divided(shares, [name for number, name in enumerate(MEMBERS) if number not in {2, 7, 8}])
    shares.join([7])
    assert_divided(shares, [name for number, name in enumerate(MEMBERS) if number not in {2, 8}])


def test_everybody_is_watched_by_whom_gateways_choose() -> None:
    clock, chance = Clock(), Random(0)
    shares = Shares(MEMBERS, [name_of(key) for key in KEYS], count=3)
    world = World(clock, chance, SimulatedConsul(clock, chance), MEMBERS, shares, list(KEYS))

    for number, name in enumerate(MEMBERS):
        assert tuple(sorted(MEMBERS[one] for one in world.watched(number))) == watched_by(name, MEMBERS)


def test_the_story_ends_well_and_nothing_is_broken(simulated: FleetSimulation) -> None:
    assert fleet_faults(simulated) == []
    alone, shared = simulated.rows
    assert alone.probes_per_s == pytest.approx(SMOKE_INSTANCES / 5, rel=0.1)
    assert shared.probes_per_s == pytest.approx(3 * SMOKE_INSTANCES / 5, rel=0.1)
    assert shared.quiet_writes_per_s == pytest.approx(8 / 2, rel=0.1)


def test_the_same_seed_tells_the_same_story(simulated: FleetSimulation) -> None:
    again = simulate(SMOKE_SIZES[:1], instances=SMOKE_INSTANCES)

    assert again.rows[0] == simulated.rows[0]


def test_every_table_has_a_row_for_every_size(simulated: FleetSimulation) -> None:
    for sheet in fleet_sheets(simulated):
        assert [row[0] for row in sheet.rows] == [str(size) for size in SMOKE_SIZES]
        assert {len(row) for row in sheet.rows} == {len(sheet.heads)}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"not_ejected_everywhere": 2}, "2 drifted instances were not ejected everywhere"),
        ({"ejected_everywhere": Times(0.1, 0.2, 2.5)}, "an ejection took 2.5 s to be everywhere"),
        ({"taken_over": Times(5.0, 6.0, 11.0)}, "the share of a dead gateway was taken over after 11.0 s"),
    ],
)
def test_a_broken_promise_is_said(simulated: FleetSimulation, changes: dict[str, object], said: str) -> None:
    row = msgspec.structs.replace(simulated.rows[1], **changes)

    assert fleet_faults(msgspec.structs.replace(simulated, rows=[row])) == [f"with 8 gateways {said}"]
