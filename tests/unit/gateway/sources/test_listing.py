"""W20, W25: what stays of a list that lacks what it had."""

from __future__ import annotations

from gateway.sources.listing import FLAPPING_RETURNS, RECOVERY_S, Listing, distrust, stand_in, take
from tests.support.registrations import SERVICE, listing, registration

ONE, TWO, THREE = (registration(f"w{n}", f"10.0.0.{n}:8000") for n in (1, 2, 3))


def names(known: Listing) -> list[str]:
    return [one.id for one in known.registrations]


def test_w18_a_copy_stands_in_until_the_catalogue_has_answered() -> None:
    begun = stand_in(SERVICE, [TWO, ONE], age_s=7200)

    assert (names(begun), begun.read_at) == (["w1", "w2"], None)
    assert begun.problem == "not read yet; what was listed 120 minutes ago stands in, and our probes judge it"
    assert names(take(begun, [TWO], went_back=False, now=5)) == ["w2"]
    assert names(take(begun, [], went_back=False, now=5)) == ["w1", "w2"]


def test_before_anything_was_read_nothing_is_known() -> None:
    known = Listing(SERVICE)

    assert (names(known), known.read_at) == ([], None)


def test_a_first_list_that_is_empty_is_an_answer_too() -> None:
    known = take(Listing(SERVICE), [], went_back=False, now=5)

    assert (names(known), known.problem, known.read_at) == ([], "", 5)


def test_w20_what_left_a_list_that_is_not_empty_has_left() -> None:
    known = take(listing(ONE, TWO), [TWO], went_back=False, now=101)

    assert (names(known), known.kept, known.problem) == (["w2"], frozenset(), "")


def test_w25_an_empty_list_empties_nothing() -> None:
    known = take(listing(ONE, TWO), [], went_back=False, now=101)

    assert names(known) == ["w1", "w2"]
    assert known.kept == {ONE.key, TWO.key}
    assert known.problem == ("the list is empty; the 2 instances known before stay, and our probes judge them")


def test_an_answer_that_cannot_be_trusted_changes_nothing_but_the_problem() -> None:
    before = listing(ONE)
    known = distrust(before, "Consul does not know the token")

    assert (known.registrations, known.read_at) == (before.registrations, before.read_at)
    assert known.problem == "Consul does not know the token"
    assert take(known, [ONE], went_back=False, now=102).problem == ""


def test_after_an_empty_list_instances_come_back_one_by_one_and_none_is_lost() -> None:
    emptied = take(listing(ONE, TWO), [], went_back=False, now=101)
    known = take(emptied, [TWO], went_back=False, now=110)

    assert names(known) == ["w1", "w2"]
    assert known.kept == {ONE.key}
    assert "filling up again; the instance known before stays" in known.problem


def test_an_index_that_went_back_is_memory_lost_too() -> None:
    known = take(listing(ONE, TWO), [TWO, THREE], went_back=True, now=101)

    assert names(known) == ["w1", "w2", "w3"]
    assert known.kept == {ONE.key}


def test_what_did_not_come_back_in_time_has_left() -> None:
    emptied = take(listing(ONE, TWO), [], went_back=False, now=101)
    filling = take(emptied, [TWO], went_back=False, now=100 + RECOVERY_S)
    known = take(filling, [TWO], went_back=False, now=101 + RECOVERY_S)

    assert (names(filling), names(known), known.problem) == (["w1", "w2"], ["w2"], "")


def test_a_list_that_stays_empty_keeps_them_for_ever() -> None:
    known = listing(ONE)
    for hour in range(1, 4):
        known = take(known, [], went_back=False, now=hour * 3600.0)

    assert names(known) == ["w1"]


def test_what_keeps_leaving_and_coming_back_is_flapping_for_a_while() -> None:
    known = listing(ONE, TWO)
    for turn in range(FLAPPING_RETURNS):
        assert not known.is_flapping(ONE.key)
        known = take(known, [TWO], went_back=False, now=200.0 + turn)
        known = take(known, [ONE, TWO], went_back=False, now=200.5 + turn)
    calm = take(known, [ONE, TWO], went_back=False, now=600.0)

    assert known.is_flapping(ONE.key)
    assert not known.is_flapping(TWO.key)
    assert not calm.is_flapping(ONE.key)


def test_a_restart_of_a_worker_is_no_flapping() -> None:
    known = take(listing(ONE, TWO), [TWO], went_back=False, now=101)
    known = take(known, [ONE, TWO], went_back=False, now=102)

    assert len(known.returns[ONE.key]) == 1
    assert not known.is_flapping(ONE.key)
