"""A source that remembers: what it last gave is kept on disk and stands in until the source itself has answered well.

Rules of this file:

* The copy comes first, then what the source says: a document that is broken in the source at a cold start has its last
  good state all the same.
* A start from the copy counts as ready only once the source was asked and did not answer well.
* After its first good reading the copy is never used again; the watcher's own state is then the fresher one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import Protocol

from gateway.sources.kept import Copy, CopyUnusable, CopyUnwritable, Kept
from gateway.sources.reading import DocumentText, Reading, Source

CONFIRM_S = 30.0
"""The file's time is set anew at most so often while nothing changes."""


class Expecting(Source, Protocol):
    """A source that can be told what serves although it was never seen in it."""

    def expect(self, documents: Iterable[DocumentText]) -> None:
        """Take these for seen: where they are not there, that has to be proved."""
        ...


class KeptSource:
    """Reads `source`, and its copy before it.

    Args:
        source: Where documents come from.
        copy: The file.
        now: Monotonic clock.
        wall: Epoch clock.
        report: Is told, once, that the copy cannot be written, as a sentence; None when it can be again.
    """

    def __init__(
        self,
        source: Expecting,
        copy: Copy,
        *,
        now: Callable[[], float],
        wall: Callable[[], float],
        report: Callable[[str | None], None],
    ) -> None:
        self._source = source
        self._copy = copy
        self._now = now
        self._wall = wall
        self._report = report
        self._kept: Kept | None = None
        self._why_none = ""
        self._has_loaded = self._was_good = False
        self._given: tuple[Reading, Reading] | None = None
        self._saved: dict[str, bytes] | None = None
        self._confirmed_at = 0.0
        self._problem: str | None = None

    @property
    def kind(self) -> str:
        """One word for metrics."""
        return self._source.kind

    @property
    def place(self) -> str:
        """Where documents come from."""
        return self._source.place

    def forget(self, keys: Collection[str]) -> None:
        """Stop missing these documents."""
        self._source.forget(keys)

    async def read(self) -> Reading:
        """Give the copy first, then what the source says; the copy stands behind it until the source answers well."""
        if not self._has_loaded:
            self._has_loaded = True
            await asyncio.to_thread(self._load)
            if self._kept is not None:
                self._source.expect(self._kept.documents.values())
                return Reading(self._kept.documents, ok=False)
        reading = await self._source.read()
        if reading.ok:
            self._was_good, self._kept = True, None
        if self._was_good:
            return reading
        if self._given is None or self._given[0] is not reading:
            self._given = reading, self._backed(reading)
        return self._given[1]

    async def keep(self, documents: Collection[DocumentText]) -> None:
        """Keep what is in force after a good reading."""
        texts = {document.key: document.text for document in documents}
        is_same = texts == self._saved
        if is_same and self._now() - self._confirmed_at < CONFIRM_S:
            return
        try:
            if is_same:
                await asyncio.to_thread(self._copy.confirm)
            else:
                await asyncio.to_thread(self._copy.save, documents)
                self._saved = texts
            problem = None
        except CopyUnwritable as error:
            problem, self._saved = str(error), None
        self._confirmed_at = self._now()
        if problem != self._problem:
            self._problem = problem
            self._report(problem)

    def _load(self) -> None:
        try:
            self._kept = self._copy.load(self._wall())
        except CopyUnusable as error:
            self._why_none = str(error)

    def _backed(self, reading: Reading) -> Reading:
        """Put the copy behind a reading that is not good."""
        kept = self._kept
        if kept is None:
            return replace(reading, problems=(*reading.problems, self._why_none))
        left = reading.gone | reading.faults.keys()
        behind = {key: document for key, document in kept.documents.items() if key not in left}
        return replace(reading, documents={**behind, **reading.documents}, kept_at=kept.at)
