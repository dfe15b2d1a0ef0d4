"""The copy on disk: whole or none, of an age, and readable by Consul's own program."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

import pytest

from gateway.sources.kept import Copy, CopyUnusable, CopyUnwritable
from gateway.sources.reading import DocumentText

DOCUMENTS = (
    DocumentText("routes/m", b"model_id: m\n", "inference/routes/m"),
    DocumentText("contracts/a/m/v1.0.0+b", b"{}", "inference/contracts/a/m/v1.0.0+b"),
)


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    copy = Copy(tmp_path / "folder" / "copy.json", root="inference/", limit_s=100)
    copy.save(DOCUMENTS)
    return copy


def written_at(copy: Copy) -> float:
    return copy.file.stat().st_mtime


def test_what_was_saved_is_read_again(copy: Copy) -> None:
    kept = copy.load(written_at(copy))
    assert dict(kept.documents) == {document.key: document for document in DOCUMENTS}
    assert kept.at == written_at(copy)
    assert [file.name for file in copy.file.parent.iterdir()] == ["copy.json"]


def test_it_is_an_export_of_consul(copy: Copy) -> None:
    entries = json.loads(copy.file.read_text())
    assert all(set(entry) == {"key", "flags", "value"} for entry in entries)
    assert {entry["key"]: base64.b64decode(entry["value"]) for entry in entries[:-1]} == {
        f"inference/{document.key}": document.text for document in DOCUMENTS
    }
    copy.file.write_text(json.dumps(entries))  # another layout is the same export
    assert copy.load(written_at(copy)).documents


def test_it_has_an_age_that_a_confirmation_ends(copy: Copy) -> None:
    os.utime(copy.file, (1000, 1000))
    assert copy.load(1099).at == 1000
    with pytest.raises(CopyUnusable, match="older than"):
        copy.load(1101)
    copy.confirm()
    assert copy.load(written_at(copy)).documents
    assert copy.load(written_at(copy) - 50).documents  # a clock that was set back takes nothing away


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:-30],
        lambda text: b"",
        lambda text: text.replace(b"e30=", b"e31="),
        lambda text: text.replace(b"/routes/m", b"/routes/n"),
        lambda text: json.dumps(json.loads(text)[1:]).encode(),
        lambda text: json.dumps(json.loads(text)[:-1]).encode(),
        lambda text: b"[]",
        lambda text: b"\x00" * 100,
    ],
)
def test_a_damaged_one_counts_as_none(copy: Copy, damage: object) -> None:
    assert callable(damage)
    copy.file.write_bytes(damage(copy.file.read_bytes()))
    with pytest.raises(CopyUnusable, match="damaged"):
        copy.load(written_at(copy))


def test_none_is_a_sentence_and_so_is_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    copy = Copy(tmp_path / "none.json", root="inference/")
    with pytest.raises(CopyUnusable, match="there is no copy"):
        copy.load(0)
    with pytest.raises(CopyUnwritable, match="GATEWAY_KEPT_FOLDER"):
        copy.confirm()
    with pytest.raises(CopyUnwritable, match="GATEWAY_KEPT_FOLDER"):
        Copy(tmp_path / "file" / "copy.json", root="inference/").save(DOCUMENTS)
