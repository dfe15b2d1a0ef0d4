"""The loop that shares verdicts with other gateways through Consul, and gives it up at once where Consul is away.

A life as a member begins with a session and ends with the first call that fails. Between two lives this gateway is
alone: it probes everything it routes to, and nobody's doubt stands but its own. So no failure of Consul needs a rule of
its own here. The decisions are in `gateway/sharing/`; what is read and written, in `control/membership.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from gateway.control.membership import FIRST_READ, Member
from gateway.control.prober import Pace
from gateway.control.standing import InstanceKey, Tracked
from gateway.health.identity import Identity
from gateway.sharing.bulletin import Bulletin, news, write_bulletin
from gateway.sharing.division import PROBERS, Division
from gateway.sharing.names import gateway_of, member_name
from gateway.sharing.pulse import BEAT_S, LOOK_S, Pulse, feel, watched_by
from gateway.sharing.sighting import Sighting, sighting_of
from gateway.sharing.state import SharingState
from gateway.sources.consul.client import ConsulClient
from gateway.sources.consul.failed import ConsulFailed, FailureKind
from inference_dna.observation import Observation

NEWS_S = 60.0
"""How long good news is told: who has not heard it by then has looked for itself."""
GATHER_S = 0.05
"""What comes in so short a time is told together."""
SPACING_S = 0.5
"""Between two bulletins of ours."""
MEMBERS_READ_PER_S, BULLETINS_READ_PER_S, READS_AT_ONCE = 0.5, 2.0, 2
"""However often those change. Each reading of the members divides all instances anew, which among a thousand gateways
is a second of a thread: while a fleet restarts gateway by gateway, two seconds later is early enough. A gateway that
dies alone is noticed at once all the same."""
_FIRST_PAUSE_S, _MOST_PAUSE_S = 0.5, 5.0
_SETTLED_S = 30.0
_NAMED = 10
"""How many that come or go at once are named in the log."""


class Shared(Protocol):
    """Whose verdicts are shared (the fleet)."""

    @property
    def tracked(self) -> Mapping[InstanceKey, Tracked]:
        """Every instance."""
        ...

    def redivide(self) -> None:
        """Take up and lay down probing."""
        ...

    def hear(self, told: Sighting, *, by: str) -> None:
        """Take in what another gateway saw."""
        ...

    def unhear(self, key: InstanceKey, *, by: str) -> None:
        """Take in that another gateway's doubt stands no more."""
        ...


class Sharing:
    """Shares what this gateway sees, and takes in what others saw.

    Args:
        open_client: Makes a client of Consul; each life has its own.
        place: Where that is, for people.
        prefix: Of all keys, without a slash at its end.
        gateway: Name of this gateway.
        fleet: Whose verdicts are shared.
        now: Monotonic clock.
        draw: Uniform in [0, 1).
        new_life: Gives letters and digits that were never given before.
        report: Writes an event: its name, its level, its facts.
        probers: How many gateways probe each instance.
    """

    def __init__(
        self,
        *,
        open_client: Callable[[], ConsulClient],
        place: str,
        prefix: str,
        gateway: str,
        fleet: Shared,
        now: Callable[[], float],
        draw: Callable[[], float],
        new_life: Callable[[], str],
        report: Callable[..., None],
        probers: int = PROBERS,
    ) -> None:
        self._open_client = open_client
        self._place = place
        self._prefix = prefix
        self._gateway = gateway
        self._fleet = fleet
        self._now = now
        self._draw = draw
        self._new_life = new_life
        self._report = report
        self._probers = probers
        self._alone = Division(gateway, (), count=probers)
        self._division = self._alone
        self._member: str | None = None
        self._problem = "not joined yet"
        self._heard_at: float | None = None
        self._bulletins: Mapping[str, Bulletin] = {}
        self._told: dict[InstanceKey, tuple[Sighting, float]] = {}
        self._serial = 0
        self._left_out = 0
        self._has_news = asyncio.Event()

    # what the fleet asks and tells ------------------------------------------------------------------------------------

    def is_mine(self, key: InstanceKey) -> bool:
        """Say whether this gateway probes an instance."""
        return self._division.is_mine(key)

    def seen(self, key: InstanceKey, one: Tracked, observation: Observation) -> None:
        """Tell the others what this gateway saw of an instance, where it is news to them."""
        doubts = one.identity.identity is not Identity.VERIFIED
        before = self._told.get(key)
        takes_back = before is not None and before[0].doubts
        if observation.http is None or not (one.hearsay.here if doubts else takes_back or self._division.is_divided):
            return
        self._serial += 1
        sighting = sighting_of(key, observation, one.identity.identity, serial=self._serial)
        self._told[key] = (sighting, self._now())
        self._has_news.set()

    def documents_changed(self) -> None:
        """Let instances that are new here hear what others have told of them already."""
        tracked = self._fleet.tracked
        told = news({}, self._bulletins).told
        new = {sighting.key for _, sighting in told if (one := tracked.get(sighting.key)) and one.stated is None}
        for by, sighting in told:
            if sighting.key in new:
                self._fleet.hear(sighting, by=by)

    def state(self) -> SharingState:
        """Say how it goes; may be called in any thread."""
        tracked = dict(self._fleet.tracked)
        return SharingState(
            place=self._place,
            member=self._member,
            members=self._division.members if self._member else (),
            problem=self._problem,
            instances=len(tracked),
            probed=sum(map(self.is_mine, tracked)),
            doubted_elsewhere=sum(bool(one.hearsay.doubters) for one in tracked.values()),
            told=len(self._told),
            left_out=self._left_out,
            heard_seconds_ago=None if self._heard_at is None else round(self._now() - self._heard_at, 3),
        )

    # lives ------------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Be a member, again and again, until cancelled."""
        pause_s = _FIRST_PAUSE_S
        while True:
            began = self._now()
            await self._live()
            pause_s = _FIRST_PAUSE_S if self._now() - began > _SETTLED_S else min(2 * pause_s, _MOST_PAUSE_S)
            await asyncio.sleep(pause_s * (0.5 + self._draw() / 2))

    async def _live(self) -> None:
        """Be a member until Consul fails."""
        client = self._open_client()
        member = Member(client, prefix=self._prefix, name=member_name(self._gateway, self._new_life()))
        problem = "this gateway is stopping"
        try:
            await member.join()
            async with asyncio.TaskGroup() as group:
                for loop in (self._beat, self._watch_members, self._watch_bulletins, self._publish, self._look):
                    group.create_task(loop(member))
        except* ConsulFailed as failures:
            problem = _first_words(failures)
        finally:
            self._be_alone(problem)
            await member.leave()
            await client.close()

    def _be_alone(self, problem: str) -> None:
        """Probe everything, and let nobody's word stand that can no longer be taken back."""
        if self._member is None and self._problem == problem:
            return
        self._member, self._division, self._problem = None, self._alone, problem
        self._take_in({})
        self._fleet.redivide()
        self._report("sharing_alone", level="warning", reason=problem)

    # the loops of one life --------------------------------------------------------------------------------------------

    async def _beat(self, member: Member) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            await member.beat()
            self._heard_at = self._now()

    async def _watch_members(self, member: Member) -> None:
        known, pace = FIRST_READ, Pace(MEMBERS_READ_PER_S, burst=READS_AT_ONCE)
        while True:
            await asyncio.sleep(pace.wait_s(self._now()))
            names, known = await member.members(known)
            if names is None:
                continue
            if member.name not in names:
                raise ConsulFailed(FailureKind.REFUSED, "this gateway's key is gone from the members")
            await self._divide(member.name, names)

    async def _divide(self, me: str, names: frozenset[str]) -> None:
        division = Division(me, names, count=self._probers)
        # In a thread: a thousand gateways and ten thousand instances are a moment of computing.
        await asyncio.to_thread(division.look_ahead, list(self._fleet.tracked))
        before = {*self._division.members} if self._member else set()
        self._member, self._division, self._problem = me, division, ""
        self._heard_at = self._now()
        self._fleet.redivide()
        joined, left = ([*map(gateway_of, sorted(some)[:_NAMED])] for some in (names - before, before - names))
        self._report("sharing_members", members=len(names), joined=joined, left=left)

    async def _watch_bulletins(self, member: Member) -> None:
        known, pace = FIRST_READ, Pace(BULLETINS_READ_PER_S, burst=READS_AT_ONCE)
        while True:
            await asyncio.sleep(pace.wait_s(self._now()))
            bulletins, known = await member.bulletins(known)
            self._heard_at = self._now()
            if bulletins is not None:
                self._take_in(bulletins)

    def _take_in(self, bulletins: Mapping[str, Bulletin]) -> None:
        heard = news(self._bulletins, bulletins)
        self._bulletins = bulletins
        for by, key in heard.withdrawn:
            self._fleet.unhear(key, by=by)
        for by, sighting in heard.told:
            self._fleet.hear(sighting, by=by)

    async def _publish(self, member: Member) -> None:
        written = b""
        self._has_news.set()
        while True:
            await self._wait_for_news()
            await asyncio.sleep(GATHER_S)
            text = self._bulletin()
            if text != written:
                await member.tell(text)
                written = text
                await asyncio.sleep(SPACING_S)

    async def _wait_for_news(self) -> None:
        """Wait for news, or until something told is so old that it should be looked at."""
        try:
            async with asyncio.timeout(NEWS_S / 2):
                await self._has_news.wait()
        except TimeoutError:
            return
        self._has_news.clear()

    def _bulletin(self) -> bytes:
        """Write what stands: doubts for as long as they do, good news for a while."""
        tracked, oldest = self._fleet.tracked, self._now() - NEWS_S
        self._told = {
            key: (sighting, at)
            for key, (sighting, at) in self._told.items()
            if key in tracked and (sighting.doubts or at > oldest)
        }
        written = write_bulletin([sighting for sighting, _ in self._told.values()], members=len(self._division.members))
        self._left_out = written.left_out
        return written.text

    async def _look(self, member: Member) -> None:
        """Watch a few of the others, and end the sessions of those that are dead."""
        pulses: dict[str, Pulse] = {}
        watched: tuple[str, ...] = ()
        division = self._alone
        while True:
            if division is not self._division:
                division = self._division
                watched = await asyncio.to_thread(watched_by, member.name, division.members)
            beats = await member.beats(watched)
            now = self._now()
            pulses = {name: feel(pulses.get(name), beat, now=now) for name, beat in beats.items()}
            for name in [name for name, pulse in pulses.items() if pulse.is_dead(now)]:
                if await member.bury(name, pulses[name].beat):
                    self._report("gateway_silent", level="warning", silent=gateway_of(name))
            await asyncio.sleep(LOOK_S)


def _first_words(failures: BaseExceptionGroup[Any]) -> str:
    """Say in words what ended a life; where several calls failed at once, the first."""
    first: BaseException = failures
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return str(first)
