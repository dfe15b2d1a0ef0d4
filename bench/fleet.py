"""Verdicts shared by many gateways, simulated: what it costs, how fast an ejection is everywhere, who survives what.

Counts and simulated seconds, nothing that depends on this machine. The decisions are the gateway's own code
(`bench/simulated/gateway.py` says which); clock and Consul are simulated, chance is seeded. No requests are sent: that
a gateway sees what is amiss in an answer, and tells it, only makes it faster.

One story per number of gateways: a quiet time; instances that drift and heal; instances that are new; gateways that
die; half of the gateways without Consul while more instances drift; all together again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from statistics import median

from bench.progress import say
from bench.results import FleetRow, FleetSimulation, Partition, Times
from bench.simulated.clock import Clock
from bench.simulated.consul import Cost, SimulatedConsul
from bench.simulated.gateway import SimulatedGateway
from bench.simulated.shares import Shares
from bench.simulated.world import World, key_of
from gateway.sharing.division import PROBERS, name_of
from gateway.sharing.names import member_name

SIZES = (1, 10, 100, 1000)
INSTANCES = 10_000
SEED = 1
SETTLE_S, QUIET_S, DRIFT_S = 20.0, 20.0, 30.0
HEAL_S, LOOK_S = 75.0, 5.0
DRIFTS, NEW, CUT_DRIFTS = 60, 30, 20
NEW_S, DEATH_S, PARTITION_S = 15.0, 15.0, 60.0
FOLLOWED = 20
"""Of the gateways that are cut off, so many are simulated with all their probes: each then probes everything."""


def simulate(sizes: Sequence[int] = SIZES, *, instances: int = INSTANCES, seed: int = SEED) -> FleetSimulation:
    """Tell the story for each number of gateways."""
    rows = []
    for size in sizes:
        say(f"{size} gateways, {instances} instances")
        rows.append(_Story(size, instances, seed).row())
    return FleetSimulation(instances=instances, probers=PROBERS, seed=seed, rows=rows)


@dataclass
class _Reach:
    """When something reached which gateways, since it began."""

    began: float
    awaited: set[int]
    at: dict[int, float] = field(default_factory=dict)

    def reached(self, member: int, now: float) -> None:
        if member in self.awaited:
            self.at.setdefault(member, now)

    @property
    def first(self) -> float | None:
        """Seconds from the beginning to the first gateway."""
        return min(self.at.values()) - self.began if self.at else None

    def slowest(self, members: set[int]) -> float | None:
        """Seconds from the beginning to the last of these; None where it has not reached all, or there are none."""
        if not members or not members <= self.at.keys():
            return None
        return max(self.at[member] for member in members) - self.began


@dataclass
class _Story:
    size: int
    instances: int
    seed: int
    reach: dict[int, _Reach] = field(default_factory=dict)
    admitted: dict[int, _Reach] = field(default_factory=dict)
    probes_of: Counter[int] = field(default_factory=Counter)
    orphans: dict[int, set[int]] = field(default_factory=dict)
    taken: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.chance = Random(self.seed)
        self.clock = Clock()
        self.consul = SimulatedConsul(self.clock, self.chance)
        names = [member_name(f"gateway-{number}", f"{number:08x}") for number in range(self.size)]
        keys = [key_of(number) for number in range(self.instances)]
        shares = Shares(names, [name_of(key) for key in keys], count=PROBERS)
        self.world = World(self.clock, self.chance, self.consul, names, shares, keys)
        self.world.on_out, self.world.on_in, self.world.on_probe = self._out, self._in, self._probed
        self.gateways = [SimulatedGateway(self.world, number) for number in range(self.size)]
        for gateway in self.gateways:
            gateway.start()

    def row(self) -> FleetRow:
        """Tell the story."""
        self._run(SETTLE_S)
        quiet, quiet_probes = self._cost(QUIET_S)
        busy, _, ejected = self._drift(DRIFTS, DRIFT_S, set(range(self.size)))
        self._heal()
        admitted, spent = self._welcome()
        everywhere = set(range(self.size))
        spread = [(one.first, one.slowest(everywhere)) for one in ejected]
        return FleetRow(
            gateways=self.size,
            probes_per_s=sum(quiet_probes) / QUIET_S,
            probes_per_s_of_one=median(quiet_probes) / QUIET_S,
            probes_per_s_of_busiest=max(quiet_probes) / QUIET_S,
            quiet_writes_per_s=quiet.writes / QUIET_S,
            quiet_reads_per_s=quiet.reads / QUIET_S,
            quiet_bytes_per_s=(quiet.read_bytes + quiet.written_bytes) / QUIET_S,
            renewals_per_s=quiet.renewals / QUIET_S,
            drifting_writes_per_s=busy.writes / DRIFT_S,
            drifting_bytes_per_s=(busy.read_bytes + busy.written_bytes) / DRIFT_S,
            first_ejection=_times(first for first, _ in spread),
            ejected_everywhere=_times(last - first for first, last in spread if first is not None and last is not None),
            not_ejected_everywhere=sum(last is None for _, last in spread),
            admitted_everywhere=admitted,
            probes_of_a_new_instance=spent,
            taken_over=self._bury(),
            not_taken_over=len(self.orphans) - len(self.taken),
            partition=self._partition(),
        )

    # the chapters -----------------------------------------------------------------------------------------------------

    def _drift(self, number: int, seconds: float, members: set[int]) -> tuple[Cost, list[int], list[_Reach]]:
        """Let instances drift, one after another, and see which of these gateways hold them for out, and when."""
        self.reach = {}
        well = [one for one in range(self.instances) if one not in self.world.drifted]
        for order, instance in enumerate(self.chance.sample(well, number)):
            self.clock.after(seconds * order / number / 2, self._spoil, instance, members)
        cost, probes = self._cost(seconds)
        return cost, probes, list(self.reach.values())

    def _spoil(self, instance: int, members: set[int]) -> None:
        self.reach[instance] = _Reach(self.clock.now, set(members))
        self.world.drifted.add(instance)

    def _heal(self) -> None:
        """Let all instances be well, until every gateway knows it: a while where one probes everything."""
        self.world.drifted.clear()
        end = self.clock.now + HEAL_S
        while any(self.world.out.values()) and self.clock.now < end:
            self._run(LOOK_S)

    def _welcome(self) -> tuple[Times | None, float]:
        """Let new instances come, and see when every gateway has admitted them and by how many probes."""
        self.probes_of.clear()
        for number in range(NEW):
            self.clock.after(NEW_S / 2 * number / NEW, self._meet, self.instances + number)
        self._run(NEW_S)
        new = list(self.admitted)
        spent = [self.probes_of[instance] for instance in new]
        everywhere = set(range(self.size))
        return _times(one.slowest(everywhere) for one in self.admitted.values()), median(spent)

    def _meet(self, number: int) -> None:
        instance = self.world.add_instance(number)
        self.admitted[instance] = _Reach(self.clock.now, set(range(self.size)))
        for gateway in self.gateways:
            gateway.meet(instance)

    def _bury(self) -> Times | None:
        """Kill a hundredth of the gateways, and see when somebody new has probed what was theirs."""
        if self.size == 1:
            return None
        dead = self.chance.sample(range(self.size), max(1, self.size // 100))
        shares, began = self.world.shares, self.clock.now
        theirs = set().union(*(shares.of[member] for member in dead))
        self.orphans = {instance: set(shares.probers(instance)) for instance in theirs}
        self.taken = {}
        for member in dead:
            self.gateways[member].die()
        self._run(DEATH_S)
        return _times(at - began for at in self.taken.values())

    def _partition(self) -> Partition:
        """Take Consul from half of the gateways while instances drift, and give it back."""
        living = [number for number, gateway in enumerate(self.gateways) if not gateway.dead]
        cut = self.chance.sample(living, max(1, len(living) // 2))
        for order, member in enumerate(cut):
            self.gateways[member].followed = order < FOLLOWED
            self.gateways[member].cut_off()
        began = self.clock.now
        self._run(PARTITION_S / 4)
        followed, connected = set(cut[:FOLLOWED]), set(living) - set(cut)
        before = [self.gateways[member].probes for member in followed]
        _, _, on_both = self._drift(CUT_DRIFTS, PARTITION_S, followed | connected)
        probed = [self.gateways[member].probes - was for member, was in zip(followed, before, strict=True)]
        alone = [self.gateways[member].alone_at - began for member in cut]
        for member in cut:
            self.clock.after(self.chance.uniform(2.5, 5.0), self.gateways[member].rejoin)
        self._run(2 * LOOK_S)
        self._heal()
        return Partition(
            cut=len(cut),
            alone=_times(alone),
            probes_per_s_of_one_cut_off=median(probed) / PARTITION_S,
            ejected_where_connected=_times(one.slowest(connected) for one in on_both),
            ejected_where_cut_off=_times(one.slowest(followed) for one in on_both),
            members_afterwards=len(self.consul.members.values),
            living=len(living),
            out_afterwards=sum(len(members) for members in self.world.out.values()),
        )

    # measuring --------------------------------------------------------------------------------------------------------

    def _run(self, seconds: float) -> None:
        self.clock.run_until(self.clock.now + seconds)

    def _out(self, member: int, instance: int) -> None:
        if instance in self.reach:
            self.reach[instance].reached(member, self.clock.now)

    def _in(self, member: int, instance: int) -> None:
        if instance in self.admitted:
            self.admitted[instance].reached(member, self.clock.now)

    def _probed(self, member: int, instance: int) -> None:
        if instance >= self.instances:
            self.probes_of[instance] += 1
        if instance in self.orphans and member not in self.orphans[instance]:
            self.taken.setdefault(instance, self.clock.now)

    def _cost(self, seconds: float) -> tuple[Cost, list[int]]:
        """Let time pass; give what Consul was asked meanwhile, and the probes of each gateway."""
        before, probes = replace(self.consul.cost), [gateway.probes for gateway in self.gateways]
        self._run(seconds)
        return self.consul.cost.since(before), [
            gateway.probes - was for gateway, was in zip(self.gateways, probes, strict=True)
        ]


def _times(seconds: Iterable[float | None]) -> Times | None:
    known = [one for one in seconds if one is not None]
    return Times(min(known), median(known), max(known)) if known else None
