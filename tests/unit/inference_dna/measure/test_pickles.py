from __future__ import annotations

import bz2
import gzip
import lzma
import os
import pickle
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest

from inference_dna.measure.folder import ModelFolder, measure_folder, weights_section
from inference_dna.measure.listing import list_folder
from inference_dna.measure.pickles import find_pickles, noted_pickles, pickle_notes
from tests.support.weights import archive

PLAIN = pickle.dumps({"weights": [1.5] * 50})
SCRIPT = {"m/data.pkl": PLAIN, "m/constants.pkl": PLAIN, "m/code/__torch__.py": b"def forward(x):\n  return x\n"}


def found(folder: Path) -> tuple[str, ...]:
    return find_pickles(list_folder(folder))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("model.pkl", PLAIN, id="by-its-name"),
        pytest.param("labels.dat", PLAIN, id="by-its-content"),
        pytest.param("model.joblib", zlib.compress(PLAIN), id="zlib"),
        pytest.param("model.pkl.gz", gzip.compress(PLAIN), id="gzip"),
        pytest.param("model.bz2", bz2.compress(PLAIN), id="bzip2"),
        pytest.param("model.xz", lzma.compress(PLAIN), id="xz"),
        pytest.param("old.pickle", pickle.dumps(os.mkdir, 0), id="without-a-mark-under-its-own-name"),
        pytest.param("vocab.txt", PLAIN, id="in-place-of-a-tokenizers-file"),
    ],
)
def test_a_pickle_is_found_whatever_it_is_called(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)

    assert found(tmp_path) == (name,)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("labels.txt", b"cat\ndog\nRed\n", id="text-that-reads-like-an-old-one"),
        pytest.param("x.txt", b"x is no zlib", id="text-that-begins-like-a-packed-file"),
        pytest.param("model.pkl", b"", id="empty"),
        pytest.param("log.gz", gzip.compress(b"a log"), id="a-packed-text"),
        pytest.param("log.bz2", b"BZh" + bytes(40), id="a-damaged-packed-file"),
        pytest.param("table.dat", bytes(range(256)) * 40, id="numbers"),
    ],
)
def test_other_files_are_not_taken_for_one(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)

    assert found(tmp_path) == ()


def test_archives_are_judged_by_their_directory(tmp_path: Path) -> None:
    archive(tmp_path / "saved.weights", {"m/data.pkl": PLAIN, "m/version": b"3\n"})
    archive(tmp_path / "script.ts", SCRIPT)
    archive(tmp_path / "arrays.npz", {"a.npy": b"numbers"})
    with zipfile.ZipFile(tmp_path / "with-a-comment.weights", "w") as file:
        file.writestr("model.joblib", PLAIN)
        file.comment = b"which our reader refuses, and others do not"

    assert found(tmp_path) == ("saved.weights", "with-a-comment.weights")


def model(folder: Path, content: bytes) -> ModelFolder:
    folder.mkdir()
    (folder / "model.pkl").write_bytes(content)
    return measure_folder(folder)


def test_a_model_says_what_it_holds_and_its_digest_does_not_depend_on_that(tmp_path: Path) -> None:
    """A harmful one: read back, it would make a folder."""

    class Marks:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(tmp_path / "ran"),)

    held, none = model(tmp_path / "one", pickle.dumps(Marks())), model(tmp_path / "two", b"weights")
    section = weights_section(held, format_name=held.form, load={})

    assert noted_pickles(section) == held.pickles == ("model.pkl",)
    assert noted_pickles(weights_section(none, format_name=none.form, load={})) == none.pickles == ()
    assert held.weights[0].name == none.weights[0].name
    assert not (tmp_path / "ran").exists()
    assert list(pickle_notes(held.pickles)) == [
        "'model.pkl' holds a pickle, a program that runs where it is loaded; hashing it ran nothing"
    ]


@pytest.mark.parametrize("section", [None, [], {}, {"evidence": None}, {"evidence": {"pickles": "x"}}])
def test_a_section_that_notes_none(section: Any) -> None:
    assert noted_pickles(section) == ()
