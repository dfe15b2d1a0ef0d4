from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from inference_dna.canonical import Refused
from inference_dna.measure.private_file import MAX_BYTES, check_private, read_private, replace_private, write_private


def test_what_is_written_is_read_and_is_nobody_elses(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_private(path, b"one")
    replace_private(path, b"two")

    assert read_private(path) == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["a"]


def test_a_new_file_takes_no_others_place(tmp_path: Path) -> None:
    write_private(tmp_path / "a", b"one")

    with pytest.raises(FileExistsError):
        write_private(tmp_path / "a", b"two")
    assert read_private(tmp_path / "a") == b"one"


def test_a_write_that_fails_leaves_the_old_content_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").touch()

    with pytest.raises(OSError, match="directory"):
        replace_private(tmp_path / "a", b"new")
    assert [file.name for file in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_is_refused(tmp_path: Path, mode: int) -> None:
    write_private(tmp_path / "a", b"one")
    (tmp_path / "a").chmod(mode)

    with pytest.raises(Refused, match="is not private"):
        read_private(tmp_path / "a")


def test_what_belongs_to_somebody_else_is_refused(tmp_path: Path) -> None:
    write_private(tmp_path / "a", b"one")
    status = os.stat_result([*os.lstat(tmp_path / "a")[:4], os.geteuid() + 1, *os.lstat(tmp_path / "a")[5:]])

    with pytest.raises(Refused, match="is not private"):
        check_private(tmp_path / "a", status, stat.S_IFREG)


def test_links_and_fifos_are_not_read(tmp_path: Path) -> None:
    write_private(tmp_path / "a", b"one")
    (tmp_path / "link").symlink_to("a")
    os.mkfifo(tmp_path / "fifo", 0o600)

    with pytest.raises(OSError, match="symbolic links"):
        read_private(tmp_path / "link")
    with pytest.raises(Refused, match="is not private"):
        read_private(tmp_path / "fifo")


def test_a_file_beyond_reason_is_not_read(tmp_path: Path) -> None:
    write_private(tmp_path / "a", b"")
    os.truncate(tmp_path / "a", MAX_BYTES + 1)

    with pytest.raises(Refused, match="more than 64 MiB"):
        read_private(tmp_path / "a")
