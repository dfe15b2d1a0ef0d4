"""A fleet that a watcher keeps up to date with a real Consul, on real time, inside the test's own process."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path

from contracts.version import Version
from gateway.control.documents import DocumentState
from gateway.control.watcher import Watcher
from gateway.sources.consul.address import parse_address
from gateway.sources.consul.client import ConsulClient
from gateway.sources.consul.source import ConsulSettings, ConsulSource
from gateway.sources.kept import Copy
from gateway.sources.kept_source import KeptSource
from gateway.sources.reading import DocumentText, Source
from tests.support.control import MODEL, Story

PATIENCE_S = 60.0
"""Whether something happens at all; on a busy machine it takes far longer than on a quiet one."""


class WatchedConsul:
    """What a gateway knows of `<prefix>/` in Consul."""

    def __init__(
        self, address: str, *, copy: Path | None = None, max_bytes: int = 8 * 1024 * 1024, wait_s: float = 60
    ) -> None:
        self.story = Story()
        self.odd: Counter[str] = Counter()
        self.copy_problems: list[str | None] = []
        parsed = parse_address(address, {})
        self.client = ConsulClient(parsed, max_bytes=2 * max_bytes)
        self.consul = ConsulSource(
            self.client,
            now=time.monotonic,
            draw=lambda: 0.5,
            on_oddity=self._note,
            settings=ConsulSettings(wait_s=wait_s, jitter_s=0, max_bytes=max_bytes),
        )
        source: Source = self.consul
        keep: Callable[[Collection[DocumentText]], Awaitable[None]] | None = None
        if copy is not None:
            kept = KeptSource(
                self.consul,
                Copy(copy, root=f"{parsed.prefix}/"),
                now=time.monotonic,
                wall=time.time,
                report=self.copy_problems.append,
            )
            source, keep = kept, kept.keep
        self.watcher = Watcher(
            source=source,
            fleet=self.story.fleet,
            listener=self.story.told.append,
            now=time.monotonic,
            wall=time.time,
            keep=keep,
        )

    def _note(self, cause: str) -> None:
        self.odd[cause] += 1

    @property
    def generation(self) -> int:
        return self.story.fleet.current().generation

    @property
    def problems(self) -> str:
        return "; ".join(self.watcher.state.problems)

    def strikes(self, version: str = "v1.0.0") -> int | None:
        """A number of the contract in force; None where there is no such contract."""
        view = self.story.fleet.current().version(MODEL, Version.parse(version))
        return view.contract.strikes if view else None

    def state(self, key: str) -> DocumentState | None:
        entry = self.story.fleet.documents.entries.get(key)
        return entry.state if entry else None

    def fault(self, key: str) -> str:
        return "; ".join(str(fault) for fault in self.story.fleet.documents.entries[key].faults)

    async def until(self, holds: Callable[[], object], *, timeout_s: float = PATIENCE_S) -> float:
        """Wait until it holds; gives the seconds that took."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(timeout_s):
                while not holds():  # noqa: ASYNC110 - the story looks from outside
                    await asyncio.sleep(0.005)
        except TimeoutError:
            raise AssertionError(f"waited in vain; state {self.watcher.state}, odd {self.odd}") from None
        return time.monotonic() - began

    async def until_strikes(self, wanted: int | None, version: str = "v1.0.0") -> float:
        return await self.until(lambda: self.strikes(version) == wanted)

    async def until_good(self) -> float:
        return await self.until(lambda: self.watcher.state.ok)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[WatchedConsul]:
        """Follow Consul for the block."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self.consul.run()), group.create_task(self.watcher.run())]
                try:
                    yield self
                finally:
                    for task in tasks:
                        task.cancel()
        finally:
            await self.client.close()
