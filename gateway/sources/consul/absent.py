"""What was in Consul and is not listed any more: gone, or merely not shown (reference page `consul`, section 4).

Consul hides what a token may not read, with no word about it. So each missing key is read alone, from a server with a
leader: 404 means that it is gone; 403, or any doubt, changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from gateway.sources.consul.client import ConsulClient
from gateway.sources.consul.failed import ConsulFailed, FailureKind
from gateway.sources.reading import DocumentText

ASKED_ALONE = 64
"""Where more than half is missing, so many are read alone to learn the cause: nothing of it is removed anyway."""
_AT_ONCE = 4
_GONE_KEPT = 100_000
"""Keys of removed documents that are remembered, so that a reader that missed a round still learns of them."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why the absence of a document proves nothing.

    Attributes:
        cause: One word for metrics: `acl`, `empty`, `shorter`.
        reason: For people.
        is_failure: The source could not be asked, or refuses: it is not in order.
    """

    cause: str
    reason: str
    is_failure: bool


class Absent:
    """Remembers every document that was there and is not proved gone.

    Args:
        client: Asks for single keys.
        root: Prefix that is no part of a document's key, with its slash.
    """

    def __init__(self, client: ConsulClient, root: str) -> None:
        self._client = client
        self._root = root
        self._places: dict[str, tuple[str, ...]] = {}
        self._gone: dict[str, None] = {}  # ordered, so that the oldest is forgotten first
        self._emptied: dict[str, None] = {}  # missing since Consul lost its data: a 404 never proves that they are gone
        self.doubts: dict[str, Doubt] = {}
        """Document keys that are missing without proof."""

    @property
    def known(self) -> Collection[str]:
        """Keys of the documents that were there and are not proved gone."""
        return self._places.keys()

    @property
    def gone(self) -> frozenset[str]:
        """Keys proved gone."""
        return frozenset(self._gone)

    @property
    def causes(self) -> frozenset[str]:
        """The causes of all doubts."""
        return frozenset(doubt.cause for doubt in self.doubts.values())

    def expect(self, documents: Iterable[DocumentText]) -> None:
        """Take these for seen: they serve from a copy."""
        for document in documents:
            self._places.setdefault(document.key, (document.origin,))

    def forget(self, keys: Collection[str]) -> None:
        """Stop missing these documents: the operator confirmed that they are gone."""
        for key in keys:
            self._places.pop(key, None)
            self._emptied.pop(key, None)
            self.doubts.pop(key, None)

    async def look(self, present: Mapping[str, tuple[str, ...]], *, is_emptied: bool) -> None:
        """Find what became of every document that is known and not `present`.

        Args:
            present: Consul's keys by document key, of all that is listed.
            is_emptied: Consul looks like a server that lost its data: a 404 proves nothing.
        """
        self._places |= present
        for key in present:
            self._gone.pop(key, None)
            self._emptied.pop(key, None)
        missing = [key for key in self._places if key not in present]
        if is_emptied:
            self._emptied |= dict.fromkeys(missing)
        self.doubts = {}
        if len(missing) > ASKED_ALONE and 2 * len(missing) > len(self._places):
            unproved = Doubt("shorter", "most documents vanished at once", is_failure=False)
            self.doubts = dict.fromkeys(missing[ASKED_ALONE:], unproved)
            missing = missing[:ASKED_ALONE]
        slots = asyncio.Semaphore(_AT_ONCE)
        async with asyncio.TaskGroup() as group:
            for key in missing:
                group.create_task(self._look_for(key, slots))

    async def _look_for(self, key: str, slots: asyncio.Semaphore) -> None:
        async with slots:
            doubt = await self._doubt(self._places[key])
        if doubt is None and key in self._emptied:
            doubt = Doubt("empty", "Consul came back empty with a smaller index, as after a loss of its data", False)
        if doubt is not None:
            self.doubts[key] = doubt
            return
        del self._places[key]
        self._gone[key] = None
        if len(self._gone) > _GONE_KEPT:
            self._gone.pop(next(iter(self._gone)))

    async def _doubt(self, places: tuple[str, ...]) -> Doubt | None:
        try:
            for place in places:
                if await self._client.key(place) is not None:
                    return Doubt("shorter", "it is there when it is read alone", is_failure=True)
        except ConsulFailed as failed:
            cause = "acl" if failed.kind is FailureKind.DENIED else "shorter"
            return Doubt(cause, str(failed), is_failure=True)
        return None

    def problems(self) -> tuple[str, ...]:
        """Say in one sentence for each reason what is missing without proof."""
        by_reason: dict[str, list[str]] = {}
        for key, doubt in self.doubts.items():
            by_reason.setdefault(doubt.reason, []).append(self._root + key)
        return tuple(_sentence(reason, sorted(keys)) for reason, keys in sorted(by_reason.items()))


def _sentence(reason: str, keys: list[str]) -> str:
    more = f" (and {len(keys) - 1} more)" if len(keys) > 1 else ""
    return f"{keys[0]}{more} is not listed any more, and that proves nothing: {reason}"
