"""The loop from the source to the snapshot: read, assemble, apply; and what is known of the source itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Protocol

from gateway.control.assemble import assemble, confirm_removal
from gateway.control.documents import Documents, DocumentState
from gateway.sources.reading import DocumentText, Reading, Source
from gateway.telemetry.changes import Change, ChangeKind, Listener
from inference_dna.trust.keys import TrustedKey


class Applied(Protocol):
    """Who holds the documents (the fleet)."""

    @property
    def documents(self) -> Documents:
        """The documents and their states."""
        ...

    async def apply(self, documents: Documents) -> None:
        """Put documents in force."""
        ...


@dataclass(frozen=True, slots=True)
class SourceState:
    """What is known of the source.

    Attributes:
        kind: `files` or `consul`.
        place: Where it is, for people.
        ok: The last reading may be trusted as a whole.
        problems: What was wrong with it.
        last_read_at: Monotonic second of the last reading; None before the first.
        last_good_at: Epoch second of the last good one; None before the first.
        kept_at: Where a copy on disk stands in for it: the epoch second at which it was last confirmed.
    """

    kind: str
    place: str
    ok: bool = False
    problems: tuple[str, ...] = ()
    last_read_at: float | None = None
    last_good_at: float | None = None
    kept_at: float | None = None

    @property
    def has_documents(self) -> bool:
        """Say whether what is in force is what the source said, now or when the copy was made."""
        return self.last_good_at is not None or self.kept_at is not None


class NothingReadable(Exception):
    """The source shows nothing at all, so nothing can be confirmed as gone."""


class Watcher:
    """Brings what the source holds into force.

    Args:
        source: Where documents come from.
        fleet: Holds them.
        listener: Is told when the source fails and recovers.
        now: Monotonic clock.
        wall: Epoch clock.
        signers: Keys of which one must have signed every document; with none, documents need no signature.
        keep: Keeps the documents in force after each good reading; None where nothing is kept.
        taking_in: Stands around the taking in of so many documents that came or changed.
    """

    def __init__(
        self,
        *,
        source: Source,
        fleet: Applied,
        listener: Listener,
        now: Callable[[], float],
        wall: Callable[[], float],
        signers: Sequence[TrustedKey] = (),
        keep: Callable[[Collection[DocumentText]], Awaitable[None]] | None = None,
        taking_in: Callable[[int], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self._source = source
        self._keep = keep
        self._taking_in = taking_in
        self._signers = signers
        self._fleet = fleet
        self._listener = listener
        self._now = now
        self._wall = wall
        self._applied: Reading | None = None
        self._lock = asyncio.Lock()
        self.state = SourceState(source.kind, source.place)
        """What is known of the source."""

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            await self.round()

    async def round(self) -> None:
        """Wait for one reading and bring it into force."""
        reading = await self._source.read()
        if reading is not self._applied:
            async with self._lock:
                with self._taking_in(_fresh(self._applied, reading)):
                    # In a thread: ten thousand changed documents are seconds of parsing.
                    documents = await asyncio.to_thread(assemble, self._fleet.documents, reading, signers=self._signers)
                    await self._fleet.apply(documents)
            self._applied = reading
        self._note(reading)  # only now: who hears of a good reading may rely on its documents
        if reading.ok and self._keep is not None:
            await self._keep(await asyncio.to_thread(_in_force, self._fleet.documents))

    async def prune(self) -> tuple[str, ...]:
        """Let every missing document go, as the operator confirmed; return their keys.

        Raises:
            NothingReadable: The source shows no document and says that it cannot be trusted.
        """
        async with self._lock:
            reading = self._applied
            if reading is None or (not reading.ok and not reading.documents):
                raise NothingReadable(f"{self._source.place} cannot be read now, so nothing was removed")
            entries = self._fleet.documents.entries.items()
            missing = tuple(sorted(key for key, entry in entries if entry.state is DocumentState.MISSING))
            self._source.forget(missing)
            await self._fleet.apply(await asyncio.to_thread(confirm_removal, self._fleet.documents))
        return missing

    def _note(self, reading: Reading) -> None:
        before = self.state
        self.state = replace(
            before, ok=reading.ok, problems=reading.problems, last_read_at=self._now(), kept_at=reading.kept_at
        )
        if reading.ok:
            self.state = replace(self.state, last_good_at=self._wall())
        generation = self._fleet.documents.generation
        if not reading.ok and (before.ok or before.problems != reading.problems):
            reason = "; ".join(reading.problems)
            self._listener(Change(ChangeKind.SOURCE_FAILED, generation, reason=reason, source="documents"))
        if reading.ok and before.problems and not before.ok:
            self._listener(Change(ChangeKind.SOURCE_RECOVERED, generation, source="documents"))


def _fresh(before: Reading | None, now: Reading) -> int:
    """Count the texts that came or changed: of one that stands a source gives the same object again."""
    known = before.documents if before is not None else {}
    return sum(known.get(key) is not text for key, text in now.documents.items())


def _in_force(documents: Documents) -> list[DocumentText]:
    """Give the texts in force, each as it came from its source."""
    return [
        DocumentText(key, entry.in_force.text, entry.origin)
        for key, entry in documents.entries.items()
        if entry.in_force is not None
    ]
