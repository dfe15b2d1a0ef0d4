from __future__ import annotations

from gateway.control.assemble import assemble
from gateway.control.documents import NO_DOCUMENTS
from gateway.control.transitions import document_changes
from gateway.sources.reading import Reading
from gateway.telemetry.changes import Change
from gateway.telemetry.changes import ChangeKind as Kind
from tests.support.control import contract, reading

ONE, TWO, THREE = "contracts/m/v1.0.0", "contracts/m/v2.0.0", "contracts/m/v3.0.0"
GOOD = {ONE: contract("v1.0.0"), TWO: contract("v2.0.0", accepts="b"), THREE: contract("v3.0.0", accepts="c")}


def told(*readings: Reading) -> list[list[Change]]:
    """What each reading told after the one before."""
    before, all_told = NO_DOCUMENTS, []
    for one in readings:
        after = assemble(before, one)
        all_told.append(list(document_changes(before, after)))
        before = after
    return all_told


def kinds(changes: list[Change]) -> list[Kind]:
    return [change.kind for change in changes]


def test_the_first_good_documents_are_one_swap() -> None:
    (first,) = told(reading(GOOD))

    assert kinds(first) == [Kind.GENERATION_SWAPPED]
    assert first[0].reason == "3 contracts, 0 routes"


def test_a_rejection_is_told_with_its_faults_and_its_mending_once_each() -> None:
    bad = reading({**GOOD, TWO: "{"})
    _, rejected, again, mended = told(reading(GOOD), bad, bad, reading(GOOD))

    assert kinds(rejected) == [Kind.DOCUMENT_REJECTED]
    assert (rejected[0].key, rejected[0].cause, rejected[0].version) == (TWO, "invalid", "v2.0.0")
    assert rejected[0].reason
    assert again == []
    assert kinds(mended) == [Kind.DOCUMENT_MENDED]


def test_other_faults_of_a_rejected_document_are_news() -> None:
    _, _, worse = told(reading(GOOD), reading({**GOOD, TWO: "{"}), reading({**GOOD, TWO: "[]"}))

    assert kinds(worse) == [Kind.DOCUMENT_REJECTED]


def test_a_document_that_is_not_seen_and_then_seen_again() -> None:
    without = {key: text for key, text in GOOD.items() if key != TWO}
    _, missing, again, found = told(reading(GOOD), reading(without), reading(without), reading(GOOD))

    assert kinds(missing) == [Kind.DOCUMENT_MISSING]
    assert again == []
    assert kinds(found) == [Kind.DOCUMENT_FOUND]


def test_a_removal_is_told_with_the_swap() -> None:
    without = {key: text for key, text in GOOD.items() if key != TWO}
    _, removed = told(reading(GOOD), reading(without, gone={TWO}))

    assert set(kinds(removed)) == {Kind.DOCUMENT_REMOVED, Kind.GENERATION_SWAPPED}


def test_removals_that_wait_are_told_once_with_what_they_look_like() -> None:
    shorter = reading({ONE: GOOD[ONE]}, gone={TWO, THREE})
    _, first, again = told(reading(GOOD), shorter, shorter)
    _, empty = told(reading(GOOD), reading({}, gone=set(GOOD)))

    held = [change for change in first if change.kind is Kind.REMOVALS_HELD]
    assert [change.cause for change in held] == ["shorter"]
    assert "dna contract prune --confirm" in held[0].reason
    assert again == []
    assert [change.cause for change in empty if change.kind is Kind.REMOVALS_HELD] == ["empty"]


def test_a_file_whose_name_is_no_key_is_told_without_a_model() -> None:
    (told_of,) = told(reading({}, faults={"contracts/x.json": "is no key"}))

    assert (told_of[0].kind, told_of[0].model_id, told_of[0].cause) == (Kind.DOCUMENT_REJECTED, "", "unreadable")
