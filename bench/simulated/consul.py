"""A Consul as the sharing sees it: keys with one index per prefix, reads that wait, and what all of it costs.

A call takes 1 to 5 ms each way. Sizes are those of Consul's JSON: base64 of the value and about 220 bytes around it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass
from random import Random

from bench.simulated.clock import Clock

AROUND_A_KEY_BYTES = 220
AROUND_A_NAME_BYTES = 35


@dataclass
class Cost:
    """What was asked of Consul so far."""

    writes: int = 0
    written_bytes: int = 0
    renewals: int = 0
    reads: int = 0
    read_bytes: int = 0

    def since(self, before: Cost) -> Cost:
        """Give what was asked since an earlier moment."""
        return Cost(*(now - was for now, was in zip(astuple(self), astuple(before), strict=True)))


class Prefix:
    """The keys below one prefix: `values` by name; `index` moves with each change and `history` keeps what was."""

    def __init__(self, clock: Clock, chance: Random, cost: Cost, *, names_only: bool = False) -> None:
        self.values: dict[int, bytes] = {}
        self.index = 1
        self._clock = clock
        self._chance = chance
        self._cost = cost
        self._names_only = names_only
        self._bytes = 0
        self._waiting: list[Callable[[], None]] = []

    def put(self, name: int, value: bytes | None) -> None:
        """Write a key, or remove it; in force, and told to who waits, a moment later."""
        self._cost.writes += 1
        self._cost.written_bytes += len(value or b"")
        self._clock.after(self._moment(), self._commit, name, value)

    def read(self, known: int, got: Callable[[], None]) -> None:
        """Call back when the index is another than the one known: at once, or once it is."""
        if self.index != known:
            self._answer(got)
        else:
            self._waiting.append(got)

    def set_up(self, name: int, value: bytes) -> None:
        """Let a key be there from the start."""
        self.values[name] = value
        self._bytes += self._size(value)

    def _commit(self, name: int, value: bytes | None) -> None:
        before = self.values.pop(name, None)
        if value is None and before is None:
            return
        self._bytes -= 0 if before is None else self._size(before)
        if value is not None:
            self.values[name] = value
            self._bytes += self._size(value)
        self.index += 1
        waiting, self._waiting = self._waiting, []
        for got in waiting:
            self._answer(got)

    def _answer(self, got: Callable[[], None]) -> None:
        self._cost.reads += 1
        self._cost.read_bytes += self._bytes
        self._clock.after(self._moment(), got)

    def _size(self, value: bytes) -> int:
        return AROUND_A_NAME_BYTES if self._names_only else AROUND_A_KEY_BYTES + len(value) * 4 // 3

    def _moment(self) -> float:
        return self._chance.uniform(0.001, 0.005)


class SimulatedConsul:
    """The three prefixes of `gateway/control/membership.py`, one set of costs."""

    def __init__(self, clock: Clock, chance: Random) -> None:
        self.cost = Cost()
        self.members = Prefix(clock, chance, self.cost, names_only=True)
        self.bulletins = Prefix(clock, chance, self.cost)
        self.beats = Prefix(clock, chance, self.cost)

    def look(self, name: int) -> str | None:
        """Read one beat."""
        value = self.beats.values.get(name)
        self.cost.reads += 1
        self.cost.read_bytes += AROUND_A_KEY_BYTES
        return None if value is None else value.decode()

    def renew(self) -> None:
        """Renew a session: the leader's memory only, no write to its log."""
        self.cost.renewals += 1
