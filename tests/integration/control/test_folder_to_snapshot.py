"""From a real folder to the snapshot, on real time: edits, faults, removals."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from contracts.version import Version
from gateway.control.documents import DocumentState
from gateway.control.watcher import Watcher
from gateway.sources.files import FileSource
from gateway.telemetry.changes import ChangeKind as Kind
from tests.support.control import MODEL, Story, contract

URL = "http://10.0.0.1:8000"


class Watched:
    """A folder, and the fleet that a watcher keeps up to date with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.story = Story()
        self.watcher = Watcher(
            source=FileSource(folder), fleet=self.story.fleet, listener=self.story.told.append,
            now=time.monotonic, wall=time.time,
        )  # fmt: skip

    def put(self, path: str, text: str) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def strikes(self, version: str = "v1.0.0") -> int | None:
        view = self.story.fleet.current().version(MODEL, Version.parse(version))
        return view.contract.strikes if view else None

    def state(self, key: str) -> DocumentState | None:
        entry = self.story.fleet.documents.entries.get(key)
        return entry.state if entry else None

    async def until(self, holds: Callable[[], object]) -> float:
        """Wait until it holds; gives the seconds that took."""
        began = time.monotonic()
        async with asyncio.timeout(5):
            while not holds():  # noqa: ASYNC110 - the story looks from outside
                await asyncio.sleep(0.005)
        return time.monotonic() - began

    async def until_strikes(self, wanted: int) -> float:
        return await self.until(lambda: self.strikes() == wanted)


def play(folder: Path, story: Any) -> None:
    async def both() -> None:
        watched = Watched(folder)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(watched.watcher.run())
            try:
                await story(watched)
            finally:
                task.cancel()

    asyncio.run(both())


def test_an_edit_is_in_force_within_a_second(tmp_path: Path) -> None:
    async def story(watched: Watched) -> None:
        watched.put("contracts/m/v1.0.0.json", contract("v1.0.0", URL))
        await watched.until(lambda: watched.strikes() == 3)
        for strikes in (4, 5, 6):
            watched.put("contracts/m/v1.0.0.json", contract("v1.0.0", URL, strikes=strikes))
            assert await watched.until_strikes(strikes) < 1.0
        assert watched.story.fleet.current().generation == 4

    play(tmp_path, story)


def test_g2_a_broken_edit_keeps_the_last_good_and_its_mending_applies_in_a_round(tmp_path: Path) -> None:
    async def story(watched: Watched) -> None:
        watched.put("contracts/m/v1.0.0.json", contract("v1.0.0", URL))
        await watched.until(lambda: watched.strikes() == 3)
        watched.put("contracts/m/v1.0.0.json", '{"model_id": "m", ')
        await watched.until(lambda: watched.state("contracts/m/v1.0.0") is DocumentState.REJECTED)
        assert watched.strikes() == 3
        watched.put("contracts/m/v1.0.0.json", contract("v1.0.0", URL, strikes=9))
        took = await watched.until(lambda: watched.strikes() == 9)
        assert took < 1.0
        assert watched.state("contracts/m/v1.0.0") is DocumentState.OK
        kinds = watched.story.kinds()
        assert kinds.count(Kind.DOCUMENT_REJECTED) == kinds.count(Kind.DOCUMENT_MENDED) == 1

    play(tmp_path, story)


def test_v7_deleted_documents_leave_and_a_vanished_folder_does_not(tmp_path: Path) -> None:
    async def story(watched: Watched) -> None:
        for number in range(1, 5):
            watched.put(f"contracts/m/v{number}.0.0.json", contract(f"v{number}.0.0", accepts="abcd"[number - 1]))
        await watched.until(lambda: watched.strikes("v4.0.0"))
        (watched.folder / "contracts/m/v1.0.0.json").unlink()
        await watched.until(lambda: watched.strikes("v1.0.0") is None)
        shutil.move(watched.folder / "contracts", watched.folder / "away")
        await watched.until(lambda: not watched.watcher.state.ok)
        assert watched.strikes("v2.0.0")
        shutil.move(watched.folder / "away", watched.folder / "contracts")
        await watched.until(lambda: watched.watcher.state.ok)
        assert watched.state("contracts/m/v2.0.0") is DocumentState.OK

    play(tmp_path, story)


def test_most_documents_at_once_wait_for_the_operator(tmp_path: Path) -> None:
    async def story(watched: Watched) -> None:
        for number in range(1, 5):
            watched.put(f"contracts/m/v{number}.0.0.json", contract(f"v{number}.0.0", accepts="abcd"[number - 1]))
        await watched.until(lambda: watched.strikes("v4.0.0"))
        shutil.rmtree(watched.folder / "contracts" / "m")
        await watched.until(lambda: watched.story.fleet.documents.held)
        assert watched.strikes("v2.0.0")
        removed = await watched.watcher.prune()
        assert len(removed) == 4
        assert watched.strikes("v2.0.0") is None

    play(tmp_path, story)


def test_a_folder_that_vanished_for_good_can_be_confirmed(tmp_path: Path) -> None:
    async def story(watched: Watched) -> None:
        watched.put("contracts/m/v1.0.0.json", contract("v1.0.0"))
        watched.put("routes/m.yaml", "model_id: m\ndefault: v1.0.0\n")
        await watched.until(lambda: watched.state("routes/m") is DocumentState.OK)
        shutil.rmtree(watched.folder / "routes")
        await watched.until(lambda: watched.state("routes/m") is DocumentState.MISSING)
        assert await watched.watcher.prune() == ("routes/m",)
        await watched.until(lambda: watched.watcher.state.ok)
        assert watched.story.fleet.current().models["m"].route is None

    play(tmp_path, story)
