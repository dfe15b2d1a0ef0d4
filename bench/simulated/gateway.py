"""One simulated gateway: the loops of `gateway/control/sharing.py` on the simulated clock, beside a prober.

Every decision is the gateway's own code: when a probe is due and how it is paced, what an observation does to an
identity, what is told and how, what is made of what others tell, who watches whom and who is dead.
"""

from __future__ import annotations

from dataclasses import dataclass

from bench.simulated.prober import SimulatedProber
from bench.simulated.world import World
from contracts.verdict import judge
from gateway.control import sharing
from gateway.control.prober import Pace
from gateway.control.schedule import AT_ONCE
from gateway.control.sharing import NEWS_S
from gateway.control.standing import InstanceKey
from gateway.health import identity as identities
from gateway.health.identity import Identity, IdentityState
from gateway.health.liveness import Liveness, LivenessState
from gateway.health.probe_schedule import INTERVAL_S, next_probe_at
from gateway.sharing.bulletin import write_bulletin
from gateway.sharing.hearsay import GRACE_S, NO_DOUBT, TAKE_UP_S, Hearsay, hear, needs_a_look, saw, withdraw
from gateway.sharing.pulse import BEAT_S, LOOK_S, Pulse, feel
from gateway.sharing.sighting import Sighting, sighting_of

_UP = LivenessState(Liveness.UP)
_VERIFIED = IdentityState(Identity.VERIFIED, "digest equal")


@dataclass(frozen=True, slots=True)
class Held:
    """What a gateway holds of an instance; most are as `WELL`."""

    identity: IdentityState
    hearsay: Hearsay


WELL = Held(_VERIFIED, NO_DOUBT)
NEW = Held(identities.NEW, NO_DOUBT)


class SimulatedGateway:
    """One of the members, by number."""

    def __init__(self, world: World, number: int) -> None:
        self.number = number
        self.name = world.names[number]
        self.probes = 0
        self.alone = False
        self.alone_at = 0.0
        self.dead = False
        self.followed = True
        """Its probes are simulated; of many that are cut off, only some are."""
        self.held: dict[int, Held] = {}
        self._world = world
        self._prober = SimulatedProber(world.clock, self._probe)
        self._life = 0
        self._mine: set[int] = set()
        self._told: dict[int, tuple[Sighting, float]] = {}
        self._serial = 0
        self._beat = 0
        self._known = 0
        self._written = b""
        self._publishing = False
        self._pulses: dict[int, Pulse] = {}
        self._watched: tuple[int, ...] = ()

    # a life as a member -----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Be a member from the start of the simulation: all instances are known and well."""
        world = self._world
        world.consul.members.set_up(self.number, b"{}")
        world.consul.beats.set_up(self.number, b"0")
        self._live(world.consul.bulletins.index)

    def rejoin(self) -> None:
        """Become a member again."""
        self.alone, self.followed, self._written = False, True, b""
        self._world.consul.members.put(self.number, b"{}")
        self._world.consul.beats.put(self.number, b"0")
        self._live(1)  # it has read nothing yet: every word is news

    def _live(self, known: int) -> None:
        world, draw = self._world, self._world.chance.random
        self._life += 1
        self._known = known
        self._pulses = {}
        world.clock.after(BEAT_S * draw(), self._send_beat, self._life)
        world.clock.after(LOOK_S * draw(), self._look, self._life)
        read = Pace(sharing.BULLETINS_READ_PER_S, burst=sharing.READS_AT_ONCE)
        self._wait_for_members(self._life, 0, Pace(sharing.MEMBERS_READ_PER_S, burst=sharing.READS_AT_ONCE))
        self._wait_for_bulletins(self._life, read)
        self._publish(self._life)

    def cut_off(self) -> None:
        """Lose Consul: noticed at the next beat, which is not answered for a while."""
        self._life += 1
        self._world.clock.after(BEAT_S * self._world.chance.random() + 2.0, self._be_alone)

    def die(self) -> None:
        """End without a word."""
        self.dead = True
        self._life += 1
        for members in self._world.out.values():
            members.discard(self.number)

    def _be_alone(self) -> None:
        self.alone, self.alone_at = True, self._world.clock.now
        for by, bulletin in self._world.bulletins().items():
            for sighting in bulletin.sightings:
                self._unhear(by, self._world.number[sighting.key])
        if self.followed:
            self._take_up(set(range(len(self._world.keys))))

    def _lives(self, life: int) -> bool:
        return life == self._life and not self.dead

    # beats ------------------------------------------------------------------------------------------------------------

    def _send_beat(self, life: int) -> None:
        if not self._lives(life):
            return
        self._beat += 1
        self._world.consul.renew()
        self._world.consul.beats.put(self.number, str(self._beat).encode())
        self._world.clock.after(BEAT_S, self._send_beat, life)

    def _look(self, life: int) -> None:
        if not self._lives(life):
            return
        world, now = self._world, self._world.clock.now
        self._pulses = {
            watched: feel(self._pulses.get(watched), world.consul.look(watched), now=now) for watched in self._watched
        }
        for watched, pulse in self._pulses.items():
            if pulse.is_dead(now) and watched in world.consul.members.values:
                world.consul.members.put(watched, None)
                world.consul.beats.put(watched, None)
                world.consul.bulletins.put(watched, None)
        world.clock.after(LOOK_S, self._look, life)

    # members ----------------------------------------------------------------------------------------------------------

    def _wait_for_members(self, life: int, known: int, pace: Pace) -> None:
        if self._lives(life):
            self._world.consul.members.read(known, lambda: self._read_members(life, pace))

    def _read_members(self, life: int, pace: Pace) -> None:
        if not self._lives(life):
            return
        world, members = self._world, self._world.consul.members
        world.settle()
        self._watched = world.watched(self.number)
        self._take_up(world.shares.of[self.number])
        world.clock.after(pace.wait_s(world.clock.now), self._wait_for_members, life, members.index, pace)

    def _take_up(self, mine: set[int]) -> None:
        """Probe what falls to us now; what does no more is laid down when it would be due."""
        self._mine = mine
        world, keys = self._world, self._world.keys
        spread = TAKE_UP_S if world.clock.now > 0 else INTERVAL_S
        for instance in mine:
            if keys[instance] not in self._prober:
                self._prober.rouse(keys[instance], world.clock.now + spread * world.chance.random())

    # probes -----------------------------------------------------------------------------------------------------------

    def meet(self, instance: int) -> None:
        """Take in an instance that is new in the documents."""
        self.held[instance] = NEW
        world = self._world
        world.hold(self.number, instance, out=True)
        in_a_while = world.clock.now + GRACE_S * (1 + world.chance.random())
        self._prober.put(world.keys[instance], AT_ONCE if instance in self._mine else in_a_while)

    def _is_watched(self, instance: int) -> bool:
        if self.dead or not self.followed:
            return False
        held = self.held.get(instance, WELL)
        return self.alone or instance in self._mine or needs_a_look(held.hearsay, held.identity, _UP)

    def _probe(self, key: InstanceKey) -> float | None:
        """Probe an instance that falls to us; gives the second of its next probe."""
        world, instance = self._world, self._world.number[key]
        if not self._is_watched(instance):
            return None
        held = self._observe(instance)
        return next_probe_at(held.identity.identity, Liveness.UP, now=world.clock.now, draw=world.chance.random())

    def _observe(self, instance: int) -> Held:
        """Probe an instance; gives what is held of it since."""
        world, now = self._world, self._world.clock.now
        self.probes += 1
        world.on_probe(self.number, instance)
        before, observation = self.held.get(instance, WELL), world.observe(instance)
        if before is WELL and observation is world.well:
            return WELL
        verdict = judge(world.contract, observation)
        identity = identities.observe(
            before.identity, verdict, observation, strikes=world.contract.strikes, started_at=now, now=now
        )
        after = Held(identity, saw(before.hearsay, verdict, identity.identity))
        self._hold(instance, before, after)
        if identity.identity is not before.identity.identity or after.hearsay.here is not before.hearsay.here:
            self._tell(instance)
        return after

    def _hold(self, instance: int, before: Held, after: Held) -> None:
        is_well = after.identity.identity is Identity.VERIFIED
        if is_well:
            self.held.pop(instance, None)
        else:
            self.held[instance] = after
        if is_well is not (before.identity.identity is Identity.VERIFIED):
            self._world.hold(self.number, instance, out=not is_well)

    # telling and hearing ----------------------------------------------------------------------------------------------

    def _tell(self, instance: int) -> None:
        identity = self.held.get(instance, WELL).identity.identity
        self._serial += 1
        observation = self._world.observe(instance)
        key = self._world.keys[instance]
        sighting = sighting_of(key, observation, identity, serial=self._serial)
        self._told[instance] = (sighting, self._world.clock.now)
        if not self._publishing and not self.alone:
            self._publishing = True
            self._world.clock.after(sharing.GATHER_S, self._publish, self._life)

    def _publish(self, life: int) -> None:
        self._publishing = False
        if not self._lives(life):
            return
        oldest = self._world.clock.now - NEWS_S
        self._told = {key: one for key, one in self._told.items() if one[0].doubts or one[1] > oldest}
        members = len(self._world.consul.members.values)
        text = write_bulletin([sighting for sighting, _ in self._told.values()], members=members).text
        if text != self._written:
            self._written = text
            self._world.consul.bulletins.put(self.number, text or None)
            self._publishing = True
            self._world.clock.after(sharing.SPACING_S, self._publish, life)
        elif self._told:
            self._world.clock.after(NEWS_S / 2, self._publish, life)

    def _wait_for_bulletins(self, life: int, pace: Pace) -> None:
        if self._lives(life):
            self._world.consul.bulletins.read(self._known, lambda: self._read_bulletins(life, pace))

    def _read_bulletins(self, life: int, pace: Pace) -> None:
        if not self._lives(life):
            return
        world, index = self._world, self._world.consul.bulletins.index
        world.bulletins()
        heard = world.news(self._known, index)
        self._known = index
        for by, key in heard.withdrawn:
            if by != self.name:
                self._unhear(by, world.number[key])
        for by, sighting in heard.told:
            if by != self.name:
                self._hear(by, world.number[sighting.key], sighting)
        world.clock.after(pace.wait_s(world.clock.now), self._wait_for_bulletins, life, pace)

    def _hear(self, by: str, instance: int, told: Sighting) -> None:
        before = self.held.get(instance, WELL)
        contract, now = self._world.contract, self._world.clock.now
        hearsay, identity = hear(before.hearsay, before.identity, contract, told, by=by, now=now)
        if hearsay is before.hearsay and identity is before.identity:
            return
        self._hold(instance, before, Held(identity, hearsay))
        if identity.identity is not Identity.VERIFIED and instance in self._mine:
            self._world.clock.after(0.0, self._look_at, instance)

    def _unhear(self, by: str, instance: int) -> None:
        before = self.held.get(instance, WELL)
        hearsay = withdraw(before.hearsay, by)
        if hearsay is not before.hearsay:
            self._hold(instance, before, Held(before.identity, hearsay))
            key = self._world.keys[instance]
            if key not in self._prober and self._is_watched(instance):
                self._prober.put(key, self._world.clock.now)

    def _look_at(self, instance: int) -> None:
        """Look at once at what was doubted and falls to us; the regular probe comes all the same."""
        if not self.dead and self.held.get(instance, WELL).identity.identity is not Identity.VERIFIED:
            self._observe(instance)
