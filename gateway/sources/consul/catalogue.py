"""Follows Consul's list of instances of every service that a contract names (reference page `consul`, sections 4, 8).

One waiting read per service, by the rules of `reads`; services come and go as contracts do. What an answer may change
is decided in `gateway.sources.listing`.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from urllib.parse import quote

from gateway.sources.consul.client import MOST_WAITING, WAIT_S, ConsulClient, ensure_good
from gateway.sources.consul.failed import ConsulFailed
from gateway.sources.consul.list_copies import ListCopies
from gateway.sources.consul.pace import Pace
from gateway.sources.consul.reads import Known, Oddity, Step, after_failure, after_reply, is_readable
from gateway.sources.consul.registrations import read_registrations
from gateway.sources.consul.replies import Reply
from gateway.sources.kept import CopyUnwritable
from gateway.sources.listing import Listing, Registration, distrust, stand_in, take

GATHER_S = 0.3
"""After lists were brought into force, what changes within this time comes into force together."""
SLOTS = MOST_WAITING - 10
"""Reads of services that wait at one time; documents and verdicts need connections, too."""
CROWDED_WAIT_S = 1.0
"""Longest wait of a read where services share the slots: each must get its turn."""


class ConsulCatalogue:
    """Follows services. Keep `run` running.

    Args:
        client: Asks Consul; closed by whoever made it.
        enlist: Takes the listings of all services that are followed, whenever one changed.
        now: Monotonic clock.
        draw: Uniform in [0, 1).
        copies: Keeps the lists for a start without Consul; None where nothing is kept.
        report: Is told that a copy cannot be written, as a sentence.
        wait_s: Longest wait of one read for a change.
        slots: Reads that wait at one time.
    """

    def __init__(
        self,
        client: ConsulClient,
        *,
        enlist: Callable[[Mapping[str, Listing]], Awaitable[None]],
        now: Callable[[], float],
        draw: Callable[[], float],
        copies: ListCopies | None,
        report: Callable[[str], None],
        wait_s: float = WAIT_S,
        slots: int = SLOTS,
    ) -> None:
        self._client = client
        self._enlist = enlist
        self._now = now
        self._draw = draw
        self._copies = copies
        self._report = report
        self._wait_s = wait_s
        self._most = slots
        self._slots = asyncio.Semaphore(slots)
        self._watches: dict[str, ServiceWatch] = {}
        self._changed = asyncio.Event()

    def follow(self, services: frozenset[str]) -> None:
        """Follow these services and no others."""
        if services == self._watches.keys():
            return
        for left in self._watches.keys() - services:
            del self._watches[left]
        for service in services - self._watches.keys():
            self._watches[service] = ServiceWatch(
                self._client,
                service,
                now=self._now,
                draw=self._draw,
                copies=self._copies,
                report=self._report,
                on_change=self._changed.set,
            )
        self._changed.set()

    async def run(self) -> None:
        """Follow until cancelled."""
        self._changed.set()
        tasks: dict[ServiceWatch, asyncio.Task[None]] = {}
        async with asyncio.TaskGroup() as group:
            while True:
                await self._changed.wait()
                self._changed.clear()
                wanted = set(self._watches.values())
                for left in tasks.keys() - wanted:
                    tasks.pop(left).cancel()
                for come in wanted - tasks.keys():
                    tasks[come] = group.create_task(self._follow(come))
                await self._enlist(MappingProxyType({name: watch.listing for name, watch in self._watches.items()}))
                await asyncio.sleep(GATHER_S)

    async def _follow(self, watch: ServiceWatch) -> None:
        pace = Pace(at=self._now())
        await watch.begin()
        while True:
            pace, delay_s = pace.take(self._now())
            await asyncio.sleep(delay_s)
            async with self._slots:
                step = await watch.turn(CROWDED_WAIT_S if len(self._watches) > self._most else self._wait_s)
            await asyncio.sleep(step.delay_s)


class ServiceWatch:
    """What is known of one service.

    Args:
        client: Asks Consul.
        service: Its name.
        now: Monotonic clock.
        draw: Uniform in [0, 1).
        copies: Keeps the list; None where nothing is kept.
        report: Is told that the copy cannot be written, as a sentence.
        on_change: Called when the listing says anything else than before.
    """

    def __init__(
        self,
        client: ConsulClient,
        service: str,
        *,
        now: Callable[[], float],
        draw: Callable[[], float],
        copies: ListCopies | None,
        report: Callable[[str], None],
        on_change: Callable[[], None],
    ) -> None:
        self.listing = Listing(service)
        self._client = client
        self._path = f"/v1/health/service/{quote(service, safe='')}"
        self._now = now
        self._draw = draw
        self._copies = copies
        self._report = report
        self._on_change = on_change
        self._known = Known()
        self._listed: tuple[Registration, ...] = ()
        self._is_doubtful = False

    async def begin(self) -> None:
        """Let the copy stand in until Consul has answered."""
        if self._copies is None or self.listing.read_at is not None:
            return
        service = self.listing.service
        kept = await asyncio.to_thread(self._copies.load, service)
        if kept is None:
            return
        try:
            self._put(stand_in(service, read_registrations(kept.body), age_s=kept.age_s))
        except ConsulFailed as failed:
            self._report(f"the copy of the list of service {service} is not used: {failed}")

    async def turn(self, wait_s: float) -> Step:
        """Read once, waiting so many seconds at the most for a change."""
        try:
            step = await self._read(wait_s)
        except ConsulFailed as failed:
            step = after_failure(self._known, failed.kind, draw=self._draw())
            self._put(distrust(self.listing, str(failed)))
        self._known = step.known
        return step

    async def _read(self, wait_s: float) -> Step:
        known, began = self._known, self._now()
        reply = await self._client.read(self._path, index=known.index, wait_s=wait_s, consistency=known.consistency)
        if not is_readable(reply.status):
            ensure_good(reply)
        step = after_reply(known, reply, hashlib.sha256(reply.body).hexdigest(), draw=self._draw())
        went_back = step.oddity in (Oddity.INDEX_BACK, Oddity.SAME_INDEX)
        if step.good:
            await self._take(reply, step, went_back=went_back or self._is_doubtful)
        elif step.oddity is Oddity.FILTERED:
            self._put(distrust(self.listing, "Consul left out what the token may not see; nothing of it is used"))
        # A restore shows in one reply only, which is no good or says nothing new; the next may have grown past it.
        is_early = reply.index == known.index and self._now() - began < wait_s
        self._is_doubtful = (went_back and not step.good) or is_early
        return step

    async def _take(self, reply: Reply, step: Step, *, went_back: bool) -> None:
        """Take in the list, also where it says the same: what stays without being listed stays for a while only."""
        if step.news:
            self._listed = await asyncio.to_thread(read_registrations, reply.body)
        self._put(take(self.listing, self._listed, went_back=went_back, now=self._now()))
        if self._copies is not None and self._listed and not self.listing.problem:
            await self._keep(self._copies, reply, step)

    async def _keep(self, copies: ListCopies, reply: Reply, step: Step) -> None:
        """Keep a list that was taken at its word; what could not be kept is told and tried again with the next."""
        keep = copies.save if step.news else copies.confirm
        try:
            await asyncio.to_thread(keep, self.listing.service, reply.body)
        except CopyUnwritable as error:
            self._report(str(error))

    def _put(self, listing: Listing) -> None:
        before, self.listing = self.listing, listing
        if not listing.says_the_same_as(before):
            self._on_change()
