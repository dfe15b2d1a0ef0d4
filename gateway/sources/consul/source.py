"""Documents out of Consul's key-value store, as a source that the watcher reads like any other.

What Consul does not say stays, and a reply that cannot be used changes nothing but `problems`; the rules are in `reads`
(what a reply means), `sorting` (which keys are documents) and `absent` (what became of those that are missing).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from gateway.sources.consul.absent import Absent
from gateway.sources.consul.client import WAIT_S, ConsulClient
from gateway.sources.consul.sorting import NOTHING, sort_out
from gateway.sources.consul.watch import Held, PrefixWatch
from gateway.sources.reading import DocumentText, Reading

JITTER_S = 5.0
MAX_BYTES = 8 * 1024 * 1024
DOUBTFUL_WAIT_S = 5.0
"""Where something is missing without proof Consul is asked more often: regained rights wake no waiting read."""


@dataclass(frozen=True, slots=True)
class ConsulSettings:
    """Numbers of the source.

    Attributes:
        wait_s: Longest wait of one read for a change.
        jitter_s: The first read comes after up to so many seconds, so that a fleet does not start as one.
        max_document: Largest document, in bytes.
        max_bytes: Most bytes of documents in one reply.
    """

    wait_s: float = WAIT_S
    jitter_s: float = JITTER_S
    max_document: int = 512 * 1024
    max_bytes: int = MAX_BYTES


class ConsulSource:
    """Follows the keys below a prefix. Keep `run` running; `read` gives what it found.

    Args:
        client: Asks Consul; closed by whoever made it.
        now: Monotonic clock.
        draw: Uniform in [0, 1).
        on_oddity: Is told one word for each reply that looks like an accident.
        settings: Numbers.
    """

    kind = "consul"

    def __init__(
        self,
        client: ConsulClient,
        *,
        now: Callable[[], float],
        draw: Callable[[], float],
        on_oddity: Callable[[str], None],
        settings: ConsulSettings | None = None,
    ) -> None:
        self.place = str(client.address)
        self._draw = draw
        self._on_oddity = on_oddity
        self._settings = settings or ConsulSettings()
        self._root = f"{client.address.prefix}/"
        self._absent = Absent(client, self._root)
        self._turned = asyncio.Event()
        self._watch = PrefixWatch(
            client,
            self._root,
            now=now,
            draw=draw,
            max_values=self._settings.max_bytes,
            on_turn=self._turned.set,
            on_oddity=on_oddity,
            wait_s=self._settings.wait_s,
        )
        self._held: Held | None = None
        self._sorted = NOTHING
        self._last: Reading | None = None
        self.applied_index = 0
        """The index of what `read` gave last."""

    @property
    def seen_index(self) -> int:
        """The last index that came."""
        return self._watch.index

    @property
    def ignored(self) -> int:
        """Keys below the prefix that are no documents."""
        return self._sorted.ignored

    @property
    def errors(self) -> Mapping[str, int]:
        """Failed reads, by kind."""
        return dict(self._watch.errors)

    async def run(self) -> None:
        """Follow Consul until cancelled."""
        if not self._watch.turns:
            await asyncio.sleep(self._draw() * self._settings.jitter_s)
        await self._watch.run()

    def expect(self, documents: Iterable[DocumentText]) -> None:
        """Take these for seen: they serve from a copy, and where Consul does not list them that has to be proved."""
        self._absent.expect(documents)

    def forget(self, keys: Collection[str]) -> None:
        """Stop missing these documents: the operator confirmed that they are gone."""
        self._absent.forget(keys)

    async def read(self) -> Reading:
        """Wait for the next read of Consul, then say what is there; the same object means that nothing changed."""
        await self._turned.wait()
        self._turned.clear()
        seen, held = self._watch.index, self._watch.held
        if held is not None and (held is not self._held or self._absent.doubts):
            await self._take(held)
        reading = self._reading()
        if self._last is None or reading != self._last:
            self._last = reading
        self.applied_index = seen
        return self._last

    async def _take(self, held: Held) -> None:
        self._sorted = await asyncio.to_thread(
            sort_out,
            held.entries,
            self._root,
            before=self._sorted,
            known=self._absent.known,
            max_document=self._settings.max_document,
        )
        before = self._absent.causes
        await self._absent.look(self._sorted.places, is_emptied=held.is_emptied)
        self._held = held
        doubts = self._absent.doubts
        for cause in self._absent.causes - before:
            self._on_oddity(cause)
        self._watch.wait_s = min(DOUBTFUL_WAIT_S, self._settings.wait_s) if doubts else self._settings.wait_s

    def _reading(self) -> Reading:
        failures = (self._watch.problem,) if self._watch.problem else ()
        is_doubtful = any(doubt.is_failure for doubt in self._absent.doubts.values())
        return Reading(
            self._sorted.documents,
            self._absent.gone,
            self._sorted.faults,
            (*failures, *self._absent.problems()),
            ok=not failures and not is_doubtful,
        )
