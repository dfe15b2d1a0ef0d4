"""What all simulated gateways have in common: instances, the truth about them, and who holds which for out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random

from bench.simulated.clock import Clock
from bench.simulated.consul import SimulatedConsul
from bench.simulated.shares import Shares
from contracts.contract import Contract, parse_contract
from gateway.control.standing import InstanceKey
from gateway.sharing.bulletin import Bulletin, News, news, read_bulletin
from gateway.sharing.division import name_of
from gateway.sharing.pulse import WATCHERS
from inference_dna.canonical import Json
from inference_dna.dna import strand
from inference_dna.observation import Observation

MODEL, VERSION = "m", "v1.0.0"
_HARDWARE: Mapping[str, Json] = {"accelerators": [{"name": "NVIDIA A100-SXM4-80GB"}], "cpu": {"arch": "x86_64"}}


@dataclass
class World:
    """Everything outside the gateways.

    Attributes:
        clock: Time.
        chance: Draws.
        consul: The simulated Consul.
        names: Members' names, by number.
        shares: Who probes what, for the members of this moment.
        drifted: Instances that are not what they promise.
        out: Who holds which instance for out, by instance.
    """

    clock: Clock
    chance: Random
    consul: SimulatedConsul
    names: list[str]
    shares: Shares
    keys: list[InstanceKey]
    drifted: set[int] = field(default_factory=set)
    out: defaultdict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    on_out: Callable[[int, int], None] = lambda member, instance: None
    on_in: Callable[[int, int], None] = lambda member, instance: None
    on_probe: Callable[[int, int], None] = lambda member, instance: None

    def __post_init__(self) -> None:
        self.number = {key: instance for instance, key in enumerate(self.keys)}
        self.contract = accepting("a")
        # One more than watch, for a gateway may be the heaviest for its own beat.
        self._watchers = Shares(self.names, [f"beat of {name}" for name in self.names], count=WATCHERS + 1)
        self.well, self.ill = stated("a"), stated("b")
        self._read: dict[int, Mapping[str, Bulletin]] = {1: {}}
        self._compared: dict[tuple[int, int], News] = {}

    def observe(self, instance: int) -> Observation:
        """Probe an instance."""
        return self.ill if instance in self.drifted else self.well

    def bulletins(self) -> Mapping[str, Bulletin]:
        """Read all bulletins; each text is read once for all gateways."""
        prefix = self.consul.bulletins
        if prefix.index not in self._read:
            self._read[prefix.index] = {self.names[member]: _bulletin(text) for member, text in prefix.values.items()}
        return self._read[prefix.index]

    def news(self, before: int, after: int) -> News:
        """Compare two readings, by index; once for all gateways that skipped the same ones."""
        if (before, after) not in self._compared:
            self._compared[before, after] = news(self._read[before], self._read[after])
        return self._compared[before, after]

    def hold(self, member: int, instance: int, *, out: bool) -> None:
        """Note what a gateway holds of an instance."""
        if out:
            self.out[instance].add(member)
            self.on_out(member, instance)
        else:
            self.out[instance].discard(member)
            self.on_in(member, instance)

    def settle(self) -> None:
        """Divide instances and watching among the members that Consul names now."""
        named = set(self.consul.members.values)
        gone, come = self.shares.members - named, named - self.shares.members
        for shares in (self.shares, self._watchers):
            shares.leave(gone)
            shares.join(come)

    def watched(self, member: int) -> tuple[int, ...]:
        """List whom a gateway watches (`pulse.watched_by`): it is among the heaviest for their beat, they set aside."""
        seen = self._watchers.of[member] & self.shares.members
        return tuple(sorted(one for one in seen - {member} if member in self._watching(one)))

    def _watching(self, one: int) -> list[int]:
        return [watcher for watcher in self._watchers.probers(one) if watcher != one][:WATCHERS]

    def add_instance(self, number: int) -> int:
        """Register another instance; gives its number."""
        key = key_of(number)
        self.keys.append(key)
        self.number[key] = len(self.keys) - 1
        return self.shares.add(name_of(key))


@lru_cache(maxsize=4096)
def _bulletin(text: bytes) -> Bulletin:
    return read_bulletin(text)


def key_of(number: int) -> InstanceKey:
    """Give the key of the instance with this number."""
    return (MODEL, VERSION, f"http://10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}:8000")


def accepting(seed: str) -> Contract:
    """Give a contract that accepts the runtime of this hex character."""
    digest = f'{{"dna": "{seed * 8}{strand(seed * 64, "")}", "digest": "sha256:{seed * 64}"}}'
    return parse_contract(f'{{"model_id": "{MODEL}", "version": "{VERSION}", "contract": {{}}, "dna": [{digest}]}}')


def stated(seed: str) -> Observation:
    """Give what a worker of that runtime states to a probe."""
    return Observation(
        200, "ok", "inference-dna/1", seed * 8 + strand(seed * 64, ""), f"sha256:{seed * 64}", model_id=MODEL,
        version=VERSION, assurance="full-hash", hardware=_HARDWARE, boot_id="00" * 16,
    )  # fmt: skip
