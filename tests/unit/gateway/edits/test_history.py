"""What is kept of a document."""

from __future__ import annotations

import json

import pytest

from gateway.edits.history import (
    OUTSIDE,
    Entry,
    EntryUnreadable,
    Note,
    keep,
    key_of,
    number_of,
    read_entry,
    write_entry,
)

NOTE = Note("ann", "2026-01-31T12:00:00Z", "why", kept=3)


def entry(number: int, text: bytes | None) -> Entry:
    return Entry(number, "bob", "2026-01-30T12:00:00Z", "", text)


def test_the_first_entry() -> None:
    kept = keep([], None, b"one", NOTE)

    assert kept.added == (Entry(1, "ann", "2026-01-31T12:00:00Z", "why", b"one"),)
    assert kept.dropped == ()


def test_a_text_written_by_other_means_is_kept_too() -> None:
    kept = keep([entry(1, b"one")], b"by hand", b"two", NOTE)

    assert [(one.number, one.author, one.text) for one in kept.added] == [(2, OUTSIDE, b"by hand"), (3, "ann", b"two")]


def test_a_deletion_by_other_means_is_kept_too() -> None:
    kept = keep([entry(1, b"one")], None, b"two", NOTE)

    assert [(one.number, one.author, one.text) for one in kept.added] == [(2, OUTSIDE, None), (3, "ann", b"two")]
    assert [one.text for one in keep([entry(1, None)], None, b"two", NOTE).added] == [b"two"]


def test_a_text_that_was_there_before_the_history_is_kept_too() -> None:
    assert [one.text for one in keep([], b"old", b"new", NOTE).added] == [b"old", b"new"]


def test_a_text_that_the_history_knows_is_not_kept_twice() -> None:
    assert [one.text for one in keep([entry(1, b"one")], b"one", b"two", NOTE).added] == [b"two"]


def test_a_deletion_is_an_entry() -> None:
    kept = keep([entry(1, b"one")], b"one", None, NOTE)

    assert kept.added[0].text is None
    assert kept.added[0].sha is None


def test_the_oldest_make_room() -> None:
    full = [entry(number, str(number).encode()) for number in (5, 6, 7)]

    assert keep(full, b"7", b"8", NOTE).dropped == (5,)
    assert keep(full, b"by hand", b"8", NOTE).dropped == (5, 6)


def test_what_is_being_written_is_never_dropped() -> None:
    kept = keep([entry(1, b"one")], b"by hand", b"two", Note("ann", "", kept=1))

    assert [one.number for one in kept.added] == [2, 3]
    assert kept.dropped == (1,)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"model_id: m  # \xe4\xb8\xad\n", id="text", marks=[]),
        pytest.param(b"\xff\x00", id="bytes-that-are-no-text"),
        pytest.param(b"x" * 100_000, id="long"),
        pytest.param(None, id="deletion"),
    ],
)
def test_an_entry_is_read_as_it_was_written(text: bytes | None) -> None:
    one = entry(7, text)

    assert read_entry(7, write_entry(one)) == one


def test_a_short_text_is_readable_where_it_lies_and_a_long_one_is_small() -> None:
    assert json.loads(write_entry(entry(1, b"model_id: m")))["text"] == "model_id: m"
    assert len(write_entry(entry(1, b"x" * 500_000))) < 5_000


@pytest.mark.parametrize(
    ("value", "says"),
    [
        pytest.param(b"nonsense", "cannot be read", id="no-json"),
        pytest.param(b"{}", "cannot be read", id="members-missing"),
        pytest.param(b"[]", "cannot be read", id="no-object"),
        pytest.param(
            b'{"author": "a", "at": "", "reason": "", "sha256": "", "gzip": "AAAA"}', "cannot be read", id="no-gzip"
        ),
        pytest.param(write_entry(entry(1, b"one")).replace(b'"one"', b'"two"'), "was changed", id="changed"),
    ],
)
def test_a_value_that_is_no_entry(value: bytes, says: str) -> None:
    with pytest.raises(EntryUnreadable, match=says):
        read_entry(1, value)


def test_keys() -> None:
    assert key_of("routes/m", 7) == "routes/m/00000007"
    assert number_of("routes/m", "routes/m/00000007") == 7
    assert number_of("routes/m", "routes/m/inner/00000007") is None
    assert number_of("routes/m", "routes/other/00000007") is None
    assert number_of("routes/m", "routes/m/x") is None
