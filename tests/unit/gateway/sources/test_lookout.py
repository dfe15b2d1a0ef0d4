from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gateway.sources.breaks import no_break
from gateway.sources.files import FileSource
from gateway.sources.lookout import Lookout
from gateway.sources.notices import Notices
from gateway.sources.reading import Reading


class Clock:
    """Seconds that pass when they are told to; CPU seconds that every walk takes."""

    def __init__(self, walk_s: float) -> None:
        self.now = 100.0
        self._walk_s = walk_s
        self.asked = 0

    def spent(self) -> float:
        """Give what was spent so far: it is asked for before and after a walk."""
        self.asked += 1
        return self.asked * self._walk_s


@pytest.fixture
def notices() -> Iterator[Notices]:
    with Notices() as made:
        yield made


def lookout(notices: Notices, clock: Clock) -> Lookout:
    return Lookout(notices, now=lambda: clock.now, spent=clock.spent)


def put(root: Path, path: str, text: str = "{}") -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_the_next_walk_is_due_when_the_last_one_has_been_paid_for(tmp_path: Path, notices: Notices) -> None:
    put(tmp_path, "routes/m.yaml")
    clock = Clock(walk_s=0.2)
    made = lookout(notices, clock)

    assert made.is_due()

    made.walk(tmp_path, take_break=no_break)
    clock.now += 19

    assert not made.is_due()

    clock.now += 2

    assert made.is_due()


def test_a_notice_makes_it_due_until_it_is_answered(tmp_path: Path, notices: Notices) -> None:
    put(tmp_path, "routes/m.yaml")
    made = lookout(notices, Clock(walk_s=10))
    made.walk(tmp_path, take_break=no_break)
    put(tmp_path, "routes/m.yaml", "edited")

    assert made.is_due()
    assert made.is_due()
    assert made.answer_call()
    assert not made.answer_call()
    assert not made.is_due()


def test_what_is_unfinished_is_due(tmp_path: Path, notices: Notices) -> None:
    made = lookout(notices, Clock(walk_s=10))
    made.walk(tmp_path, take_break=no_break)
    made.call_again()

    assert made.is_due()
    assert not made.answer_call()


def test_without_notices_it_is_always_due(tmp_path: Path) -> None:
    made = lookout(Notices(is_complete=False), Clock(walk_s=10))
    made.walk(tmp_path, take_break=no_break)

    assert made.is_due()


class Folder:
    """A folder that nobody looks into unless something is noticed: its walks are never paid for."""

    def __init__(self, root: Path, notices: Notices) -> None:
        self.root = root
        self.outside = root.parent / "outside"
        self.outside.mkdir()
        self._clock = Clock(walk_s=1e6)
        self.source = FileSource(
            root, poll_s=0.0, settle_s=0.0, lookout=lookout(notices, self._clock), pause=lambda _: None
        )

    @property
    def walks(self) -> int:
        return self._clock.asked // 2

    def read(self) -> Reading:
        return asyncio.run(self.source.read())

    def texts(self) -> dict[str, str]:
        return {key: document.text.decode() for key, document in self.read().documents.items()}


@pytest.fixture
def folder(tmp_path: Path, notices: Notices) -> Folder:
    root = tmp_path / "root"
    put(root, "contracts/org/m/v1.0.0.json", "v1")
    put(root, "contracts/org/m/v2.0.0.json", "v2")
    return Folder(root, notices)


def test_a_quiet_folder_is_left_alone(folder: Folder) -> None:
    first = folder.read()
    put(folder.outside, "far.json", "unnoticed").rename(folder.outside / "near.json")

    assert folder.read() is first
    assert folder.walks == 1

    put(folder.root, "routes/m.yaml")
    folder.read()

    assert folder.walks == 3


def _replace_folder(folder: Folder) -> None:
    shutil.rmtree(folder.root / "contracts/org")
    put(folder.root, "contracts/org/m/v1.0.0.json", "new")


def _move_in(folder: Folder) -> None:
    put(folder.outside, "n/deep/v1.0.0.json", "moved")
    (folder.outside / "n").rename(folder.root / "contracts/n")


CHANGES: dict[str, tuple[Callable[[Folder], object], dict[str, str | None]]] = {
    "edit": (
        lambda folder: put(folder.root, "contracts/org/m/v1.0.0.json", "edited"),
        {"contracts/org/m/v1.0.0": "edited"},
    ),
    "edit by renaming": (
        lambda folder: put(folder.outside, "x", "edited").replace(folder.root / "contracts/org/m/v1.0.0.json"),
        {"contracts/org/m/v1.0.0": "edited"},
    ),
    "new file": (
        lambda folder: put(folder.root, "contracts/org/m/v3.0.0.json", "v3"),
        {"contracts/org/m/v3.0.0": "v3"},
    ),
    "removed file": (
        lambda folder: (folder.root / "contracts/org/m/v1.0.0.json").unlink(),
        {"contracts/org/m/v1.0.0": None},
    ),
    "new folders": (
        lambda folder: put(folder.root, "contracts/a/b/c/v1.0.0.json", "deep"),
        {"contracts/a/b/c/v1.0.0": "deep"},
    ),
    "first route": (lambda folder: put(folder.root, "routes/m.yaml", "route"), {"routes/m": "route"}),
    "folder moved in": (_move_in, {"contracts/n/deep/v1.0.0": "moved"}),
    "folder replaced": (_replace_folder, {"contracts/org/m/v1.0.0": "new", "contracts/org/m/v2.0.0": None}),
    "folder removed": (
        lambda folder: (folder.root / "contracts/org/m").rename(folder.outside / "m"),
        {"contracts/org/m/v1.0.0": None, "contracts/org/m/v2.0.0": None},
    ),
}


@pytest.mark.parametrize(("change", "expected"), CHANGES.values(), ids=CHANGES)
def test_a_change_is_read_in_the_next_round(
    folder: Folder, change: Callable[[Folder], object], expected: dict[str, str | None]
) -> None:
    folder.read()
    change(folder)
    texts = folder.texts()

    assert {key: texts.get(key) for key in expected} == expected


def test_a_second_change_of_the_same_place_is_read_too(folder: Folder) -> None:
    folder.read()
    for number in range(3):
        put(folder.root, f"contracts/new/{number}/v1.0.0.json", "one")

        assert folder.texts()[f"contracts/new/{number}/v1.0.0"] == "one"

        put(folder.root, f"contracts/new/{number}/v1.0.0.json", "two")

        assert folder.texts()[f"contracts/new/{number}/v1.0.0"] == "two"


def test_a_folder_that_appears_later_is_read(tmp_path: Path, notices: Notices) -> None:
    folder = Folder(tmp_path / "later", notices)

    assert not folder.read().ok

    put(folder.root, "contracts/m/v1.0.0.json", "v1")

    assert folder.texts() == {"contracts/m/v1.0.0": "v1"}


def test_the_key_tree_below_inference_is_watched(tmp_path: Path, notices: Notices) -> None:
    put(tmp_path, "root/inference/contracts/m/v1.0.0.json", "v1")
    folder = Folder(tmp_path / "root", notices)
    folder.read()
    put(tmp_path, "root/inference/contracts/m/v1.0.0.json", "edited")

    assert folder.texts() == {"contracts/m/v1.0.0": "edited"}

    put(tmp_path, "root/inference/routes/m.yaml", "route")

    assert folder.texts() == {"contracts/m/v1.0.0": "edited", "routes/m": "route"}

    put(tmp_path, "root/contracts/n/v1.0.0.json", "v1")

    assert folder.texts() == {"contracts/n/v1.0.0": "v1"}


def test_a_config_map_is_swapped(tmp_path: Path, notices: Notices) -> None:
    """Kubernetes: files are links through `..data`, which is exchanged for a link to another folder."""
    mount = tmp_path / "root/contracts/m"
    put(mount, "..first/v1.0.0.json", "v1")
    (mount / "..data").symlink_to("..first")
    (mount / "v1.0.0.json").symlink_to("..data/v1.0.0.json")
    folder = Folder(tmp_path / "root", notices)

    assert folder.texts() == {"contracts/m/v1.0.0": "v1"}

    put(mount, "..second/v1.0.0.json", "edited")
    (mount / "..data_tmp").symlink_to("..second")
    os.replace(mount / "..data_tmp", mount / "..data")
    shutil.rmtree(mount / "..first")

    assert folder.texts() == {"contracts/m/v1.0.0": "edited"}


def test_the_target_of_a_link_is_watched(folder: Folder) -> None:
    target = put(folder.outside, "far/target.json", "one")
    (folder.root / "contracts/org/m/v3.0.0.json").symlink_to(target)
    folder.read()
    put(folder.outside, "far/target.json", "two")

    assert folder.texts()["contracts/org/m/v3.0.0"] == "two"


def test_a_linked_folder_is_watched(folder: Folder) -> None:
    put(folder.outside, "n/v1.0.0.json", "one")
    (folder.root / "contracts/n").symlink_to(folder.outside / "n")
    folder.read()
    put(folder.outside, "n/v1.0.0.json", "two")

    assert folder.texts()["contracts/n/v1.0.0"] == "two"


def test_what_cannot_be_read_is_tried_again_without_a_notice(folder: Folder) -> None:
    dangling = folder.root / "contracts/org/m/v3.0.0.json"
    dangling.symlink_to(folder.outside / "not/yet/there.json")

    assert "contracts/org/m/v3.0.0" in folder.read().faults

    put(folder.outside, "not/yet/there.json", "here")

    assert folder.texts()["contracts/org/m/v3.0.0"] == "here"
