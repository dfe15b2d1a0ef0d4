"""A folder as a place of documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.edits.folder import FolderPlace
from gateway.edits.history import Note
from gateway.edits.place import Change, Faster, PlaceFailed

NOTE = Note("ann", "2026-01-31T12:00:00Z")
TEXT = b'{"model_id": "m", "version": "v1.0.0"}'
KEY = "contracts/m/v1.0.0"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "contracts/m").mkdir(parents=True)
    (tmp_path / "contracts/m/1.0.0.json").write_bytes(TEXT)
    return tmp_path


def test_a_document_is_read_by_its_key_and_written_to_its_file(folder: Path) -> None:
    place = FolderPlace(folder)
    held = place.read().documents[KEY]

    place.write([Change(KEY, held, b"model_id: m\n")], NOTE)

    assert held.origin == "contracts/m/1.0.0.json"
    assert (folder / held.origin).read_bytes() == b"model_id: m\n"
    assert place.read().documents[KEY].stamp != held.stamp


def test_a_document_is_deleted(folder: Path) -> None:
    place = FolderPlace(folder)
    place.write([Change(KEY, place.read().documents[KEY], None)], NOTE)

    assert not list((folder / "contracts/m").iterdir())


def test_nothing_is_written_where_one_file_is_not_as_it_was_read(folder: Path) -> None:
    place = FolderPlace(folder)
    held = place.read().documents[KEY]
    (folder / held.origin).write_bytes(b"theirs")

    with pytest.raises(Faster, match=KEY):
        place.write([Change("routes/m", None, b"model_id: m\n"), Change(KEY, held, TEXT)], NOTE)

    assert not (folder / "routes").exists()
    assert (folder / held.origin).read_bytes() == b"theirs"


def test_a_file_that_came_meanwhile_is_not_overwritten(folder: Path) -> None:
    place = FolderPlace(folder)
    place.read()
    (folder / "routes").mkdir()
    (folder / "routes/m.yaml").write_bytes(b"theirs")

    with pytest.raises(Faster, match="routes/m"):
        place.write([Change("routes/m", None, b"model_id: m\n")], NOTE)


def test_documents_below_inference(folder: Path) -> None:
    inner = folder / "export" / "inference"
    inner.mkdir(parents=True)
    (folder / "contracts").rename(inner / "contracts")

    place = FolderPlace(folder / "export")
    place.write([Change("routes/m", None, b"model_id: m\n")], NOTE)

    assert (inner / "routes/m.yaml").exists()
    assert place.read().documents.keys() == {KEY, "routes/m"}


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(PlaceFailed, match="cannot be read"):
        FolderPlace(tmp_path / "nowhere").read()
    (tmp_path / "notes").mkdir()
    with pytest.raises(PlaceFailed, match="neither contracts/ nor routes/"):
        FolderPlace(tmp_path).read()
    assert not FolderPlace(tmp_path / "notes").read().documents  # empty: a place for the first one


def test_what_cannot_be_written(folder: Path) -> None:
    place = FolderPlace(folder)
    (folder / "routes").write_bytes(b"a file where a folder should be")

    with pytest.raises(PlaceFailed, match="cannot be"):
        place.write([Change("routes/m", None, b"model_id: m\n")], NOTE)
    with pytest.raises(PlaceFailed, match="keep it in git"):
        place.history(KEY)
    assert not place.listings(["bert"])
