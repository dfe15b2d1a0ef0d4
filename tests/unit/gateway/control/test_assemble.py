"""One document's fate never touches another's (routing.md G2, G3, V7; design rule 5)."""

from __future__ import annotations

import json

import pytest

from contracts.key import parse_key
from gateway.control.assemble import assemble, confirm_removal
from gateway.control.documents import NO_DOCUMENTS, Cause, Document, Documents, DocumentState
from tests.support.control import contract, reading, route

ONE, TWO, THREE, ROUTE = "contracts/m/v1.0.0", "contracts/m/v2.0.0", "contracts/m/v3.0.0", "routes/m"
GOOD = {ONE: contract("v1.0.0"), TWO: contract("v2.0.0"), THREE: contract("v3.0.0"), ROUTE: route(default="^1.0")}
EDITED = contract("v2.0.0", strikes=5)


@pytest.fixture
def before() -> Documents:
    return assemble(NO_DOCUMENTS, reading(GOOD))


def edited(**texts: str) -> dict[str, str]:
    return {**GOOD, **{{"one": ONE, "two": TWO, "three": THREE, "route": ROUTE}[name]: t for name, t in texts.items()}}


def in_force(documents: Documents) -> set[str]:
    return {str(key) for key in (*documents.contracts, *documents.routes)}


def entry(documents: Documents, key: str) -> Document:
    return documents.entries[key]


def said(documents: Documents, key: str) -> str:
    return "; ".join(map(str, entry(documents, key).faults))


def test_good_documents_are_in_force_as_one_generation(before: Documents) -> None:
    assert before.generation == 1
    assert in_force(before) == set(GOOD)
    assert {one.state for one in before.entries.values()} == {DocumentState.OK}


def test_nothing_new_changes_nothing(before: Documents) -> None:
    assert assemble(before, reading(GOOD)) is before


def test_an_edit_is_one_generation_and_shares_the_rest(before: Documents) -> None:
    after = assemble(before, reading(edited(two=EDITED)))

    assert after.generation == 2
    assert after.contracts[parse_key(TWO)].strikes == 5
    assert after.contracts[parse_key(ONE)] is before.contracts[parse_key(ONE)]
    assert entry(after, ONE) is entry(before, ONE)
    assert after.sha != before.sha


def test_the_same_documents_have_the_same_sha_everywhere(before: Documents) -> None:
    shuffled = assemble(NO_DOCUMENTS, reading(dict(reversed(GOOD.items()))))

    assert shuffled.sha == before.sha


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("{", "", id="broken-json"),
        pytest.param('{"model_id": "m", "model_id": "m", "version": "v2.0.0"}', "model_id", id="duplicate-key"),
        pytest.param(contract("v2.0.1"), "v2.0", id="wrong-key"),
        pytest.param(contract("v2.0.0", strikes="many"), "/strikes", id="wrong-type"),
        pytest.param("", "", id="empty"),
        pytest.param("\x00", "", id="binary"),
        pytest.param("[" * 100_000, "", id="nested-too-deep"),
    ],
)
def test_g3_a_bad_document_keeps_its_own_last_good_state_and_touches_no_other(
    before: Documents, text: str, says: str
) -> None:
    after = assemble(before, reading(edited(two=text)))

    assert after.generation == before.generation
    assert after.contracts == before.contracts
    assert entry(after, TWO).state is DocumentState.REJECTED
    assert entry(after, TWO).cause is Cause.INVALID
    assert entry(after, TWO).in_force == entry(before, TWO).in_force
    assert says in said(after, TWO)
    assert said(after, TWO)
    assert all(entry(after, key) is entry(before, key) for key in GOOD if key != TWO)


def test_g3_others_change_beside_a_bad_one(before: Documents) -> None:
    after = assemble(before, reading(edited(two="{", three=contract("v3.0.0", strikes=7))))

    assert after.generation == 2
    assert after.contracts[parse_key(THREE)].strikes == 7
    assert after.contracts[parse_key(TWO)] is before.contracts[parse_key(TWO)]


def test_g2_a_mended_document_is_applied_in_the_next_round(before: Documents) -> None:
    bad = assemble(before, reading(edited(two="{")))
    mended = assemble(bad, reading(edited(two=EDITED)))

    assert mended.contracts[parse_key(TWO)].strikes == 5
    assert entry(mended, TWO).state is DocumentState.OK
    assert not entry(mended, TWO).faults
    in_force_now = entry(mended, TWO).in_force
    assert in_force_now is not None
    assert in_force_now.generation == mended.generation == 2


def test_g2_a_document_mended_back_to_what_serves_is_no_new_generation(before: Documents) -> None:
    bad = assemble(before, reading(edited(two="{")))
    mended = assemble(bad, reading(GOOD))

    assert mended.generation == before.generation
    assert entry(mended, TWO).state is DocumentState.OK


def test_a_new_bad_document_serves_nothing(before: Documents) -> None:
    after = assemble(before, reading({**GOOD, "contracts/m/v4.0.0": "{"}))

    assert entry(after, "contracts/m/v4.0.0").in_force is None
    assert in_force(after) == set(GOOD)
    assert after.generation == before.generation


def test_a_new_bad_document_that_is_taken_away_leaves_no_trace(before: Documents) -> None:
    bad = assemble(before, reading({**GOOD, "contracts/m/v4.0.0": "{"}))

    assert assemble(bad, reading(GOOD)).entries.keys() == set(GOOD)


def test_an_unreadable_file_keeps_its_last_good_state(before: Documents) -> None:
    texts = {key: text for key, text in GOOD.items() if key != TWO}
    after = assemble(before, reading(texts, faults={TWO: "cannot be read: Permission denied"}))

    assert (entry(after, TWO).state, entry(after, TWO).cause) == (DocumentState.REJECTED, Cause.UNREADABLE)
    assert in_force(after) == set(GOOD)
    assert "Permission denied" in said(after, TWO)


def test_a_file_whose_name_is_no_key_is_shown(before: Documents) -> None:
    after = assemble(before, reading(GOOD, faults={"contracts/m/v2.4.json": "is no version"}))

    assert entry(after, "contracts/m/v2.4.json").place is None
    assert entry(after, "contracts/m/v2.4.json").state is DocumentState.REJECTED
    assert assemble(after, reading(GOOD)).entries.keys() == set(GOOD)


# the set --------------------------------------------------------------------------------------------------------------

BUILD_A, BUILD_B = "contracts/m/v2.0.0+a", "contracts/m/v2.0.0+b"


def test_a_build_that_ties_with_one_in_force_is_refused_and_both_are_named(before: Documents) -> None:
    after = assemble(before, reading({**GOOD, BUILD_A: contract("v2.0.0+a")}))

    assert entry(after, BUILD_A).cause is Cause.CONFLICT
    assert TWO.rpartition("/")[2] in said(after, BUILD_A)
    assert "v2.0.0+a" in said(after, BUILD_A)
    assert in_force(after) == set(GOOD)
    assert after.generation == before.generation


def test_a_refused_build_is_taken_when_what_it_tied_with_goes(before: Documents) -> None:
    tied = assemble(before, reading({**GOOD, BUILD_A: contract("v2.0.0+a")}))
    texts = {key: text for key, text in GOOD.items() if key != TWO}
    after = assemble(tied, reading({**texts, BUILD_A: contract("v2.0.0+a")}, gone={TWO}))

    assert entry(after, BUILD_A).state is DocumentState.OK
    assert BUILD_A in in_force(after)


def test_builds_that_tie_from_the_start_are_both_in_force_and_stay_so() -> None:
    texts = {BUILD_A: contract("v2.0.0+a"), BUILD_B: contract("v2.0.0+b", accepts="b")}
    first = assemble(NO_DOCUMENTS, reading(texts))
    later = assemble(first, reading({**texts, ONE: contract("v1.0.0", accepts="c")}))

    for documents in (first, later):
        assert {str(key) for key in documents.tied} == {BUILD_A, BUILD_B}
        assert {BUILD_A, BUILD_B} <= in_force(documents)
        assert entry(documents, BUILD_A).warnings


def test_a_circle_of_successors_costs_the_document_that_closed_it(before: Documents) -> None:
    chain = assemble(before, reading(edited(one=contract("v1.0.0", successor="v2.0.0"))))
    after = assemble(
        chain,
        reading(edited(one=contract("v1.0.0", successor="v2.0.0"), two=contract("v2.0.0", successor="v1.0.0"))),
    )

    assert entry(after, TWO).cause is Cause.CONFLICT
    assert after.contracts[parse_key(TWO)] is chain.contracts[parse_key(TWO)]
    assert after.generation == chain.generation


def test_a_document_that_was_refused_with_others_falls_back_and_they_are_checked_again(before: Documents) -> None:
    """v2 refused for its circle falls back; the build that ties with v2 is refused all the same."""
    texts = edited(one=contract("v1.0.0", successor="v2.0.0"), two=contract("v2.0.0", successor="v1.0.0"))
    after = assemble(before, reading({**texts, BUILD_A: contract("v2.0.0+a", accepts="b")}))

    assert entry(after, BUILD_A).cause is Cause.CONFLICT
    assert {ONE, TWO, THREE, ROUTE} == in_force(after)


def test_warnings_stand_on_accepted_documents() -> None:
    texts = {ONE: contract("v1.0.0", accepts=""), ROUTE: route(default="v9.9.9")}
    documents = assemble(NO_DOCUMENTS, reading(texts))

    assert entry(documents, ROUTE).state is DocumentState.OK
    assert [warning.path for warning in entry(documents, ROUTE).warnings] == ["/default"]
    assert entry(documents, ONE).warnings


# removal --------------------------------------------------------------------------------------------------------------


def without(*keys: str) -> dict[str, str]:
    return {key: text for key, text in GOOD.items() if key not in keys}


def test_v7_a_document_that_is_confirmed_gone_leaves(before: Documents) -> None:
    after = assemble(before, reading(without(TWO), gone={TWO}))

    assert in_force(after) == set(GOOD) - {TWO}
    assert TWO not in after.entries
    assert after.generation == 2


def test_v7_a_document_that_is_only_not_seen_stays(before: Documents) -> None:
    after = assemble(before, reading(without(TWO)))

    assert in_force(after) == set(GOOD)
    assert entry(after, TWO).state is DocumentState.MISSING
    assert after.generation == before.generation

    found = assemble(after, reading(GOOD))

    assert entry(found, TWO).state is DocumentState.OK
    assert found.generation == before.generation


def test_a_source_that_is_away_changes_nothing_in_force(before: Documents) -> None:
    after = assemble(before, reading({}, ok=False))

    assert in_force(after) == set(GOOD)
    assert {one.state for one in after.entries.values()} == {DocumentState.MISSING}
    assert not after.held


@pytest.mark.parametrize(
    ("gone", "leaves"),
    [
        pytest.param({ONE}, True, id="one-of-four"),
        pytest.param({ONE, TWO}, True, id="half"),
        pytest.param({ONE, TWO, THREE}, False, id="more-than-half"),
        pytest.param(set(GOOD), False, id="all"),
    ],
)
def test_more_than_half_at_once_waits_for_the_operator(before: Documents, gone: set[str], leaves: bool) -> None:
    after = assemble(before, reading(without(*gone), gone=gone))

    assert (in_force(after) == set(GOOD) - gone) is leaves
    assert after.held == (frozenset() if leaves else frozenset(gone))
    if not leaves:
        assert "dna contract prune --confirm" in said(after, ONE)


def test_the_last_document_alone_may_leave() -> None:
    alone = assemble(NO_DOCUMENTS, reading({ONE: contract("v1.0.0")}))

    assert not in_force(assemble(alone, reading({}, gone={ONE})))


def test_what_waits_keeps_waiting_when_some_come_back(before: Documents) -> None:
    gone = {ONE, TWO, THREE}
    held = assemble(before, reading(without(*gone), gone=gone))
    after = assemble(held, reading(without(ONE), gone={ONE}))

    assert after.held == {ONE}
    assert in_force(after) == set(GOOD)


def test_one_more_removal_on_top_of_what_waits_waits_too(before: Documents) -> None:
    gone = {ONE, TWO, THREE}
    held = assemble(before, reading(without(*gone), gone=gone))
    after = assemble(held, reading({}, gone=set(GOOD)))

    assert in_force(after) == set(GOOD)
    assert after.held == set(GOOD)


def test_the_operator_confirms(before: Documents) -> None:
    gone = {ONE, TWO, THREE}
    held = assemble(before, reading(without(*gone), gone=gone))
    after = confirm_removal(held)

    assert in_force(after) == {ROUTE}
    assert after.generation == before.generation + 1
    assert not after.held
    assert assemble(after, reading(without(*gone), gone=gone)) is after


def test_documents_that_never_served_do_not_count_towards_half(before: Documents) -> None:
    bad = {f"contracts/bad/v{n}.0.0": "{" for n in range(10)}
    many = assemble(before, reading({**GOOD, **bad}))
    after = assemble(many, reading(GOOD, gone=set(bad)))

    assert after.entries.keys() == set(GOOD)
    assert in_force(after) == set(GOOD)


# ten thousand ---------------------------------------------------------------------------------------------------------


def test_ten_thousand_documents_and_one_bad_among_them() -> None:
    texts = {
        f"contracts/m{n}/v1.0.0": json.dumps({"model_id": f"m{n}", "version": "v1.0.0", "dna": []})
        for n in range(10_000)
    }
    first = assemble(NO_DOCUMENTS, reading(texts))
    after = assemble(first, reading({**texts, "contracts/m77/v1.0.0": "{"}))

    assert len(first.contracts) == 10_000
    assert after.contracts == first.contracts
    assert [key for key, one in after.entries.items() if one.state is DocumentState.REJECTED] == [
        "contracts/m77/v1.0.0"
    ]
    assert sum(after.entries[key] is first.entries[key] for key in texts) == 9_999
