"""Which keys of Consul are documents."""

from __future__ import annotations

from gateway.sources.consul.replies import Entry
from gateway.sources.consul.sorting import NOTHING, Sorted, sort_out
from gateway.sources.reading import DocumentText


def sorted_of(*entries: Entry, before: Sorted = NOTHING, known: tuple[str, ...] = ()) -> Sorted:
    return sort_out(entries, "i/", before=before, known=known, max_document=5)


def test_keys_are_named_as_documents_are() -> None:
    found = sorted_of(Entry("i/contracts/a/m/2.4.0+b", b"{}", 1), Entry("i/routes/a/m", b"x: 1", 1))
    assert found.documents == {
        "contracts/a/m/v2.4.0+b": DocumentText("contracts/a/m/v2.4.0+b", b"{}", "i/contracts/a/m/2.4.0+b"),
        "routes/a/m": DocumentText("routes/a/m", b"x: 1", "i/routes/a/m"),
    }
    assert found.places["contracts/a/m/v2.4.0+b"] == ("i/contracts/a/m/2.4.0+b",)


def test_a_text_that_stands_is_the_same_object() -> None:
    first = sorted_of(Entry("i/routes/m", b"a", 1))
    again = sorted_of(Entry("i/routes/m", b"a", 9), before=first)
    assert again.documents["routes/m"] is first.documents["routes/m"]
    assert sorted_of(Entry("i/routes/m", b"b", 9), before=first).documents["routes/m"].text == b"b"


def test_folder_markers_are_no_documents_and_no_faults() -> None:
    found = sorted_of(Entry("i/", None, 1), Entry("i/contracts/m/", b"x", 1), Entry("i/contracts/m/v1.0.0", None, 1))
    assert (found.documents, found.faults, found.ignored) == ({}, {}, 0)


def test_a_document_that_was_emptied_is_a_fault() -> None:
    found = sorted_of(Entry("i/contracts/m/v1.0.0", None, 1), known=("contracts/m/v1.0.0",))
    assert "empty" in found.faults["contracts/m/v1.0.0"].message


def test_other_keys_are_counted_and_misnamed_ones_are_shown() -> None:
    found = sorted_of(Entry("i/notes", b"x", 1), Entry("i/contracts/m/latest", b"x", 1))
    assert found.ignored == 1
    assert list(found.faults) == ["i/contracts/m/latest"]


def test_two_spellings_and_too_many_bytes_are_faults() -> None:
    found = sorted_of(
        Entry("i/contracts/m/1.0.0", b"x", 1), Entry("i/contracts/m/v1.0.0", b"x", 1), Entry("i/routes/m", b"123456", 1)
    )
    assert "keep one of them" in found.faults["contracts/m/v1.0.0"].message
    assert len(found.places["contracts/m/v1.0.0"]) == 2
    assert "more than the 5" in found.faults["routes/m"].message
    assert found.documents == {}
