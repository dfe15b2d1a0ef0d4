"""The loop around the rules of `reads`: it waits, asks, and keeps what one prefix of keys holds."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from gateway.sources.consul.client import WAIT_S, ConsulClient, ensure_good
from gateway.sources.consul.failed import ConsulFailed, FailureKind
from gateway.sources.consul.pace import Pace
from gateway.sources.consul.reads import Known, Oddity, Step, after_failure, after_reply, is_readable
from gateway.sources.consul.replies import Entry, Reply, entries_of

QUIET_S = 0.2
MOST_QUIET = 3
"""So many quiet times in a row gather one edit; then what is there is taken, and the rest comes with the next read."""


@dataclass(frozen=True, slots=True)
class Held:
    """What a prefix held when it was last read well.

    Attributes:
        entries: Its keys.
        is_emptied: It holds nothing, and the index went back: an emptied or a strange server, not a deletion.
    """

    entries: tuple[Entry, ...]
    is_emptied: bool = False


class PrefixWatch:
    """Follows the keys below one prefix.

    Args:
        client: Asks Consul.
        prefix: With its slash at the end.
        now: Monotonic clock.
        draw: Uniform in [0, 1).
        max_values: Most bytes of values together.
        on_turn: Called after each read, good or not.
        on_oddity: Is told what is odd about a reply, once for as long as it lasts.
        wait_s: Longest wait for a change.
    """

    def __init__(
        self,
        client: ConsulClient,
        prefix: str,
        *,
        now: Callable[[], float],
        draw: Callable[[], float],
        max_values: int,
        on_turn: Callable[[], None],
        on_oddity: Callable[[Oddity], None],
        wait_s: float = WAIT_S,
    ) -> None:
        self.wait_s = wait_s
        """Longest wait for a change; may be changed at any time."""
        self.held: Held | None = None
        """None before the first good read."""
        self.problem = ""
        """Why the last read was no good, as a sentence; empty where it was."""
        self.index = 0
        """The last index that came."""
        self.turns = 0
        """Reads so far, good or not."""
        self.errors: Counter[str] = Counter()
        """Failed reads by kind."""
        self._client = client
        self._prefix = prefix
        self._now = now
        self._draw = draw
        self._max_values = max_values
        self._on_turn = on_turn
        self._on_oddity = on_oddity
        self._known = Known()
        self._oddity: Oddity | None = None
        self._has_waited = False
        self._pace = Pace(at=now())

    async def run(self) -> None:
        """Follow until cancelled."""
        while True:
            self._pace, delay_s = self._pace.take(self._now())
            if delay_s:
                # A restore while nobody waited would go unseen: an index that is too high sleeps the whole wait.
                self._known = replace(self._known, index=None)
                await asyncio.sleep(delay_s)
            step = await self.turn()
            if step.good and not step.news and not self._has_waited:
                step = await self.turn()  # all is as it was: wait for a change, before anything can come between
            await asyncio.sleep(step.delay_s)

    async def turn(self) -> Step:
        """Read once; where something changed, until it has come to rest."""
        had_content = self._known.digest is not None
        self._has_waited = self._known.index is not None
        try:
            step, reply = await self._read()
            if step.news and had_content:
                step, reply = await self._gathered(step, reply)
            if step.news:
                self.held = await self._take(step, reply)
        except ConsulFailed as failed:
            self.errors[failed.kind] += 1
            self.problem = str(failed)
            step = after_failure(self._known, failed.kind, draw=self._draw())
        else:
            self.problem = _problem_of(step)
        # What was not taken is still news, also where the first of several reads was good.
        self._known = step.known if step.good else replace(step.known, digest=self._known.digest)
        self.index = step.known.seen or self.index
        self.turns += 1
        self._on_turn()
        return step

    async def _read(self, known: Known | None = None) -> tuple[Step, Reply]:
        known = known or self._known
        reply = await self._client.read(
            f"/v1/kv/{self._prefix}",
            {"recurse": "1"},
            index=known.index,
            wait_s=self.wait_s,
            consistency=known.consistency,
        )
        if not is_readable(reply.status):
            ensure_good(reply)
        # In a thread, as everything whose time grows with the number of documents.
        digest = await asyncio.to_thread(lambda: hashlib.sha256(reply.body).hexdigest())
        step = after_reply(known, reply, digest, draw=self._draw())
        if step.oddity is not None and step.oddity is not self._oddity:
            self._on_oddity(step.oddity)
        self._oddity = step.oddity
        return step, reply

    async def _gathered(self, step: Step, reply: Reply) -> tuple[Step, Reply]:
        """Wait until nothing changed for a quiet time: one edit is often several writes."""
        for _ in range(MOST_QUIET):
            await asyncio.sleep(QUIET_S)
            if await self._stands_still(step.known, reply.status):
                break
            again, reply = await self._read(replace(step.known, index=None))
            is_quiet = again.good and not again.news
            # What came first was news, and odd perhaps; that the last of these reads is neither must not hide it.
            step = replace(again, news=again.good, oddity=again.oddity or step.oddity)
            if is_quiet:
                break
        return step, reply

    async def _stands_still(self, known: Known, status: int) -> bool:
        """Say whether nothing was written since: the index of a listing of the folders is that of all keys in them.

        A right that was lost meanwhile leaves the index and makes the status another.
        """
        reply = await self._client.read(
            f"/v1/kv/{self._prefix}", {"keys": "", "separator": "/"}, consistency=known.consistency
        )
        return reply.status == status and not reply.filtered and reply.index == known.seen

    async def _take(self, step: Step, reply: Reply) -> Held:
        entries = await asyncio.to_thread(entries_of, reply)
        size = sum(len(entry.value) for entry in entries if entry.value is not None)
        if size > self._max_values:
            raise ConsulFailed(
                FailureKind.TOO_LARGE,
                f"the documents below {self._prefix} have {size} bytes together, more than the {self._max_values} that"
                " are read at once; raise GATEWAY_SOURCE_MAX_BYTES, or spread them over prefixes of their own",
            )
        if not entries:
            # Without a right below the prefix Consul says 404, as if there were nothing; of a single key it says 403.
            await self._client.key(self._prefix)
        return Held(entries, is_emptied=not entries and step.oddity is Oddity.INDEX_BACK)


def _problem_of(step: Step) -> str:
    if step.oddity is Oddity.FILTERED:
        return "Consul left out keys that the token may not read; nothing of that reply is used"
    if step.good and not step.fresh:
        return "Consul has no leader, or has not heard of it for a minute; what it says may be old"
    return ""
