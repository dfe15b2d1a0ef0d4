from __future__ import annotations

import os
from pathlib import Path

import pytest

from inference_dna.attest.process import Process, require_running
from inference_dna.attest.signs import Signs, changed_file, check_loaded, check_mapped, file_states
from inference_dna.canonical import Refused
from inference_dna.measure.reading import FileState

STATE = FileState(device=1, inode=2, size=3, mtime_ns=4, ctime_ns=5)
OTHERS = (FileState(1, 9, 3, 4, 5), FileState(1, 2, 9, 4, 5), FileState(1, 2, 3, 9, 5), FileState(1, 2, 3, 4, 9))
SIGNS = Signs(Process(1, 10), {"a": STATE}, {"weight_version": "1"})


def test_nothing_changed() -> None:
    assert Signs(Process(1, 10), {"a": STATE}, {"weight_version": "1"}).change_since(SIGNS) is None


@pytest.mark.parametrize("state", OTHERS, ids=["inode", "size", "mtime", "ctime"])
def test_each_fact_of_a_file_shows_a_change(state: FileState) -> None:
    changed = Signs(SIGNS.process, {"a": state}, SIGNS.labels)

    assert changed.change_since(SIGNS) == "The file 'a' changed."


@pytest.mark.parametrize(
    ("signs", "says"),
    [
        pytest.param(Signs(Process(1, 11), SIGNS.files, SIGNS.labels), "started anew", id="same-id-another-start"),
        pytest.param(Signs(SIGNS.process, {"a": STATE, "b": STATE}, SIGNS.labels), "The file 'b'", id="new-file"),
        pytest.param(Signs(SIGNS.process, {}, SIGNS.labels), "The file 'a'", id="file-gone"),
        pytest.param(Signs(SIGNS.process, SIGNS.files, {"weight_version": "2"}), "something else", id="label"),
    ],
)
def test_what_changed_is_said(signs: Signs, says: str) -> None:
    assert says in (signs.change_since(SIGNS) or "")


def test_hidden_files_are_not_watched(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    before = file_states([tmp_path])
    (tmp_path / ".lock").write_bytes(b"")
    assert changed_file(before, file_states([tmp_path])) is None
    (tmp_path / "a").write_bytes(b"2")

    assert changed_file(before, file_states([tmp_path])) == str(tmp_path / "a")


def test_a_file_younger_than_the_load_proves_nothing() -> None:
    check_loaded({"a": STATE}, loaded_at_ns=5)
    with pytest.raises(Refused, match="'a' changed after"):
        check_loaded({"a": STATE}, loaded_at_ns=4)


def test_a_file_that_is_mapped_and_no_longer_lies_there_is_refused(tmp_path: Path) -> None:
    file = tmp_path.resolve() / "w.safetensors"
    file.write_bytes(b"1")
    status, me = file.stat(), require_running(os.getpid())
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}"

    def maps(inode: int, gone: str = "") -> str:
        return f"7f00-7f01 r--p 00000000 {device} {inode}          {file}{gone}\n"

    states = file_states([tmp_path])
    check_mapped(me, maps(status.st_ino), states)
    check_mapped(me, "7f00-7f01 r--p 00000000 00:05 1          /elsewhere/x.so\n", states)
    for other in (maps(status.st_ino + 1), maps(status.st_ino, " (deleted)")):
        with pytest.raises(Refused, match="still holds another file"):
            check_mapped(me, other, states)
