"""What a catalogue lists for one service, and what of it stays when an answer cannot be taken at its word: pure.

Rules of this file (consul.md section 4, W25):

* An answer that cannot be trusted changes nothing. An empty list is never taken for "no instances": a lost right and
  an emptied catalogue look the same.
* What left a trusted list that is not empty has left; our own probes need not say so.
* After a catalogue lost its memory (an empty list, an index that went back) instances come back one by one. For a while
  a list that lacks some adds to what was known and removes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType

from contracts.address import Address
from contracts.version import Version

RECOVERY_S = 600.0
"""Seconds for which a list that forgot its instances removes none: agents tell their services anew within a minute or
two, workers that register themselves at their own pace. Not a setting: too long costs nothing, for what stays is judged
by our own probes and each answer, and one who tuned it to be short would empty a fleet with the next lost server."""
FLAPPING_WINDOW_S = 300.0
FLAPPING_RETURNS = 3
"""So many returns to the list within the window make a registration a flapping one."""


class CheckState(StrEnum):
    """What the catalogue's own checks say; a hint, our probe decides."""

    PASSING = "passing"
    WARNING = "warning"
    CRITICAL = "critical"


RegistrationKey = tuple[str, str]
"""Node and service id: together they name a registration."""


@dataclass(frozen=True, slots=True)
class Registration:
    """One instance as a catalogue lists it, read already.

    Attributes:
        id: The service id.
        node: The node it is registered on.
        shown: `host:port` as it stands in the list, readable or not.
        address: Where it is dialled, and whether by TLS; None where that cannot be read.
        version: What `Meta.version` says; None where it is missing or no version.
        model_id: What `Meta.model_id` says; None where it is missing.
        dna: What `Meta.dna` says; a hint for people.
        check: What the catalogue's checks say.
        weight: Share of the requests, by check state.
        maintenance: Why it is in maintenance; None where it is not, empty where no reason was given.
        fault: What of it cannot be read, one sentence; empty where all can.
    """

    id: str
    node: str
    shown: str
    address: Address | None
    version: Version | None
    model_id: str | None = None
    dna: str | None = None
    check: CheckState = CheckState.PASSING
    weight: float = 1.0
    maintenance: str | None = None
    fault: str = ""

    @property
    def key(self) -> RegistrationKey:
        """What names it in the catalogue."""
        return (self.node, self.id)


def _no_times() -> Mapping[RegistrationKey, tuple[float, ...]]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Listing:
    """Everything known of one service at one moment.

    Attributes:
        service: Its name.
        registrations: Those to use, by node and id.
        kept: Those among them that the last answer did not list.
        problem: Why the last answer was not taken at its word; empty where it was.
        read_at: Monotonic second of the last answer that was; None before the first.
        recovers_until: Monotonic second until which nothing leaves.
        departures: When registrations left within the flapping window.
        returns: When registrations came back within the flapping window.
    """

    service: str
    registrations: tuple[Registration, ...] = ()
    kept: frozenset[RegistrationKey] = frozenset()
    problem: str = ""
    read_at: float | None = None
    recovers_until: float = float("-inf")
    departures: Mapping[RegistrationKey, tuple[float, ...]] = field(default_factory=_no_times)
    returns: Mapping[RegistrationKey, tuple[float, ...]] = field(default_factory=_no_times)

    def is_flapping(self, key: RegistrationKey) -> bool:
        """Say whether a registration keeps leaving the list and coming back."""
        return len(self.returns.get(key, ())) >= FLAPPING_RETURNS

    def says_the_same_as(self, other: Listing) -> bool:
        """Say whether two listings differ in nothing but the moment they were read."""
        return replace(self, read_at=other.read_at) == other and (self.read_at is None) is (other.read_at is None)


def stand_in(service: str, registrations: Iterable[Registration], *, age_s: float) -> Listing:
    """Begin with what a copy holds that was written so many seconds ago: until the catalogue itself has answered."""
    ordered = sorted(registrations, key=lambda one: one.key)
    problem = f"not read yet; what was listed {age_s / 60:.0f} minutes ago stands in, and our probes judge it"
    return Listing(service, tuple(ordered), frozenset(one.key for one in ordered), problem)


def distrust(known: Listing, problem: str) -> Listing:
    """Keep everything: the answer could not be had, or not be trusted."""
    return replace(known, problem=problem)


def take(known: Listing, listed: Iterable[Registration], *, went_back: bool, now: float) -> Listing:
    """Take in a list that may be trusted.

    Args:
        known: What was known before.
        listed: What the catalogue lists now.
        went_back: The catalogue's index says that it was restored, or lost its data.
        now: Monotonic second.
    """
    by_key = {one.key: one for one in listed}
    before = {one.key: one for one in known.registrations}
    missing = before.keys() - by_key.keys()
    forgot = bool(missing) and (went_back or not by_key)
    recovers_until = now + RECOVERY_S if forgot else known.recovers_until
    kept = frozenset(missing) if now < recovers_until or not by_key else frozenset[RegistrationKey]()
    together = {**{key: before[key] for key in kept}, **by_key}
    departures = _noted(known.departures, missing - kept, now)
    came_back = {key for key in by_key.keys() - before.keys() if key in departures}
    return Listing(
        known.service,
        tuple(together[key] for key in sorted(together)),
        kept,
        _kept_sentence(len(kept), is_empty=not by_key),
        now,
        recovers_until,
        departures,
        _noted(known.returns, came_back, now),
    )


def _noted(
    times: Mapping[RegistrationKey, tuple[float, ...]], keys: Iterable[RegistrationKey], now: float
) -> Mapping[RegistrationKey, tuple[float, ...]]:
    """Note one more moment for these keys and forget what lies before the window."""
    noted = {key: tuple(at for at in ats if now - at < FLAPPING_WINDOW_S) for key, ats in times.items()}
    for key in keys:
        noted[key] = (*noted.get(key, ()), now)
    return MappingProxyType({key: ats for key, ats in noted.items() if ats})


def _kept_sentence(count: int, *, is_empty: bool) -> str:
    if not count:
        return ""
    found = "the list is empty" if is_empty else "the catalogue lost its memory and is filling up again"
    some = "the instance known before stays" if count == 1 else f"the {count} instances known before stay"
    return f"{found}; {some}, and our probes judge {'it' if count == 1 else 'them'}"
