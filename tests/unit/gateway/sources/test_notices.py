from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gateway.sources.notices import Notices


@pytest.fixture
def notices() -> Iterator[Notices]:
    with Notices() as made:
        yield made


CHANGES: dict[str, Callable[[Path], object]] = {
    "a new file": lambda folder: (folder / "new").write_text(""),
    "a new folder": lambda folder: (folder / "new").mkdir(),
    "an edit": lambda folder: (folder / "old").write_text("edited"),
    "an appended line": lambda folder: _append(folder / "old"),
    "a file put in place of another": lambda folder: (folder.parent / "aside").replace(folder / "old"),
    "a file that goes": lambda folder: (folder / "old").unlink(),
    "a file that moves away": lambda folder: (folder / "old").rename(folder.parent / "moved"),
    "other rights": lambda folder: (folder / "old").chmod(0o400),
    "other rights of the folder": lambda folder: folder.chmod(0o500),
    "a link": lambda folder: (folder / "link").symlink_to("old"),
    "the folder moves": lambda folder: folder.rename(folder.parent / "elsewhere"),
}


def _append(file: Path) -> None:
    with file.open("a") as opened:
        opened.write("line\n")


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_is_heard_once(tmp_path: Path, notices: Notices, change: Callable[[Path], object]) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "old").write_text("old")
    (tmp_path / "aside").write_text("new")
    notices.watch(str(folder))

    assert not notices.heard()

    change(folder)

    assert notices.heard()
    assert not notices.heard()


def test_reading_is_no_change(tmp_path: Path, notices: Notices) -> None:
    (tmp_path / "file").write_text("text")
    notices.watch(str(tmp_path))
    (tmp_path / "file").read_text()
    os.listdir(tmp_path)

    assert not notices.heard()


def test_a_log_that_grows_is_heard_when_it_is_closed(tmp_path: Path, notices: Notices) -> None:
    with (tmp_path / "log").open("a") as log:
        notices.watch(str(tmp_path))
        log.write("line\n")
        log.flush()

        assert not notices.heard()

    assert notices.heard()


def test_folders_further_below_have_to_be_named(tmp_path: Path, notices: Notices) -> None:
    (tmp_path / "below").mkdir()
    notices.watch(str(tmp_path))
    (tmp_path / "below" / "file").write_text("")

    assert not notices.heard()


def test_a_folder_that_is_not_there_is_passed_over(tmp_path: Path, notices: Notices) -> None:
    (tmp_path / "file").write_text("")
    notices.watch(str(tmp_path / "absent"))
    notices.watch(str(tmp_path / "file"))
    notices.watch(str(tmp_path))
    (tmp_path / "new").write_text("")

    assert notices.is_complete
    assert notices.heard()


def test_more_than_the_kernel_keeps_is_heard_all_the_same(tmp_path: Path, notices: Notices) -> None:
    notices.watch(str(tmp_path))
    for number in range(20_000):
        (tmp_path / str(number % 2)).touch()

    assert notices.heard()
    assert not notices.heard()


def test_without_a_descriptor_silence_says_nothing(tmp_path: Path, notices: Notices) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.open(tmp_path, os.O_RDONLY)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
    try:
        notices.watch(str(tmp_path))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert not notices.is_complete
    assert not notices.heard()


def test_where_nothing_is_to_be_watched_silence_says_nothing(tmp_path: Path) -> None:
    notices = Notices(is_complete=False)
    notices.watch(str(tmp_path))
    (tmp_path / "new").write_text("")

    assert not notices.heard()
    assert not notices.is_complete
