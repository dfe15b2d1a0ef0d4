"""Documents in the form of `consul kv export`."""

from __future__ import annotations

import pytest

from gateway.edits.export import ExportUnreadable, document_key, is_export, read_export, write_export


def test_it_is_written_as_consul_writes_it() -> None:
    assert write_export({"inference/routes/m": b"model_id: m\n"}) == (
        '[\n\t{\n\t\t"key": "inference/routes/m",\n\t\t"flags": 0,\n\t\t"value": "bW9kZWxfaWQ6IG0K"\n\t}\n]\n'
    )


def test_it_is_read_back_without_folder_markers() -> None:
    text = '[{"key": "inference/", "flags": 0, "value": ""}, {"key": "a", "flags": 7, "value": "eA=="}]'

    assert read_export(text.encode()) == {"a": b"x"}
    assert read_export(write_export({"b": b"", "a": b"\xff"}).encode()) == {"a": b"\xff", "b": b""}


def test_which_texts_are_exports() -> None:
    assert is_export(b"\n [")
    assert not is_export(b'{"model_id": "m"}')
    assert not is_export(b"model_id: m")


@pytest.mark.parametrize(
    "text", ["[", "[1]", "[{}]", '[{"key": "a", "value": "?"}]', '{"a": 1}', '[{"key": 1, "value": ""}]']
)
def test_what_is_no_export(text: str) -> None:
    with pytest.raises(ExportUnreadable):
        read_export(text.encode())


@pytest.mark.parametrize(
    ("key", "document"),
    [
        ("inference/contracts/a/b/v1.0.0", "contracts/a/b/v1.0.0"),
        ("team/inference/routes/m", "routes/m"),
        ("routes/m", "routes/m"),
        ("inference-history/routes/m/00000001", None),
        ("inference/notes", None),
        ("inference/contracts", None),
    ],
)
def test_what_stands_before_a_document_key(key: str, document: str | None) -> None:
    assert document_key(key) == document
