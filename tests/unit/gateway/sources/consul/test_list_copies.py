"""Lists of instances on disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gateway.sources.consul.list_copies import ListCopies
from gateway.sources.kept import CopyUnwritable

LIMIT_S = 100.0
BODY = b'[\n{"Node": 1}\n]\n'


def copies(folder: Path, *, at: float = 1_000.0) -> ListCopies:
    return ListCopies(folder / "lists", limit_s=LIMIT_S, wall=lambda: at)


def written(folder: Path, *, at: float = 1_000.0) -> Path:
    """A list of service `bert` that was kept at this second."""
    copies(folder).save("bert", BODY)
    (file,) = (folder / "lists").iterdir()
    os.utime(file, (at, at))
    return file


def test_what_was_kept_comes_back_as_it_was_with_its_age(tmp_path: Path) -> None:
    written(tmp_path, at=950.0)
    kept = copies(tmp_path).load("bert")

    assert kept is not None
    assert (kept.body, kept.age_s) == (BODY, 50.0)


def test_there_is_none_of_another_service_nor_before_the_first(tmp_path: Path) -> None:
    assert copies(tmp_path).load("bert") is None
    written(tmp_path)
    assert copies(tmp_path).load("bert2") is None


def test_one_that_was_not_confirmed_for_long_counts_as_none(tmp_path: Path) -> None:
    written(tmp_path, at=1_000.0 - LIMIT_S - 1)

    assert copies(tmp_path).load("bert") is None


def test_confirming_makes_it_young_again(tmp_path: Path) -> None:
    file = written(tmp_path, at=10.0)
    copies(tmp_path).confirm("bert", BODY)

    assert file.stat().st_mtime > 10.0


def test_confirming_brings_back_a_file_that_somebody_removed(tmp_path: Path) -> None:
    file = written(tmp_path)
    file.unlink()
    copies(tmp_path).confirm("bert", BODY)

    assert file.read_bytes().endswith(BODY)


@pytest.mark.parametrize("keep", [0, 20, 70])
def test_a_damaged_one_counts_as_none(tmp_path: Path, keep: int) -> None:
    file = written(tmp_path)
    file.write_bytes(file.read_bytes()[:keep])
    os.utime(file, (1_000.0, 1_000.0))

    assert copies(tmp_path).load("bert") is None


def test_what_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "lists").write_text("a file where the folder should be")

    with pytest.raises(CopyUnwritable, match="the lists of instances cannot be kept in"):
        copies(tmp_path).save("bert", BODY)
    with pytest.raises(CopyUnwritable):
        copies(tmp_path).confirm("bert", BODY)
