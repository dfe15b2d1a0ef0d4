"""Instances that come from the catalogue, from their first list to their last request."""

from __future__ import annotations

from gateway.health.liveness import ExchangeOutcome, ProbeOutcome
from gateway.sources.listing import CheckState, Listing
from gateway.telemetry.changes import ChangeKind as Kind
from tests.support.control import Story, contract
from tests.support.registrations import SERVICE, registration

A, B = "http://10.0.0.1:8000", "http://10.0.0.2:8000"
ONE = registration("a", "10.0.0.1:8000")
TWO = registration("b", "10.0.0.2:8000")


def story_of(*urls: str) -> Story:
    """A contract whose service lists these instances, each verified and up."""
    story = Story(has_catalogue=True)
    story.apply(contract(service=SERVICE))
    story.enlist(*({A: ONE, B: TWO}[url] for url in urls))
    for url in urls:
        story.probe(url)
    story.told.clear()
    story.swaps.clear()
    return story


def test_w21_what_is_listed_is_probed_and_gets_nothing_until_it_is_verified() -> None:
    story = Story(has_catalogue=True)
    story.apply(contract(service=SERVICE))
    story.enlist(ONE)

    assert story.ready() == []
    assert str(story.instance(A).refusal) == "unverified: not probed yet"
    assert story.schedule.take_due() == story.key(A)
    story.probe(A)
    assert story.ready() == [A]


def test_the_generation_stays_while_instances_come_and_go() -> None:
    story = story_of(A)
    story.enlist(ONE, TWO)

    assert story.fleet.current().generation == 1
    assert story.swaps == [1]


def test_a_list_that_says_the_same_changes_nothing() -> None:
    story = story_of(A, B)
    before = story.fleet.current()
    story.enlist(TWO, ONE)

    assert story.fleet.current() is before
    assert (story.told, story.swaps) == ([], [])


def test_w20_an_instance_that_left_gets_nothing_more() -> None:
    story = story_of(A, B)
    story.enlist(TWO)

    assert story.ready() == [B]
    assert [(one.kind, one.instance, one.source) for one in story.told] == [
        (Kind.INSTANCE_REMOVED, "10.0.0.1:8000", "catalogue")
    ]
    assert story.swaps == [1]


def test_w25_an_empty_list_empties_no_fleet_and_is_told_once() -> None:
    story = story_of(A, B)
    story.enlist()
    story.enlist()

    assert story.ready() == [A, B]
    assert [(one.kind, one.key) for one in story.told] == [(Kind.CATALOGUE_DOUBTED, SERVICE)]
    story.told.clear()
    story.enlist(ONE, TWO)
    assert [(one.kind, one.key) for one in story.told] == [(Kind.CATALOGUE_TRUSTED, SERVICE)]


def test_maintenance_drains_and_its_end_brings_back_at_once() -> None:
    story = story_of(A, B)
    story.enlist(registration("a", "10.0.0.1:8000", maintenance="disk"), TWO)

    assert story.ready() == [B]
    assert str(story.instance(A).refusal) == "draining: by an operator's wish: disk"
    assert [(one.kind, one.reason) for one in story.told] == [(Kind.INSTANCE_DRAINING, "by an operator's wish: disk")]
    story.told.clear()
    story.enlist(ONE, TWO)
    assert story.ready() == [A, B]
    assert story.kinds() == [Kind.INSTANCE_UNDRAINED]


def test_an_instance_in_maintenance_counts_for_no_cap() -> None:
    story = story_of(A, B)
    story.enlist(registration("a", "10.0.0.1:8000", maintenance=""), TWO)

    for _ in range(5):
        story.fleet.observe_exchange(story.instance(B), ExchangeOutcome.FAILED)
    assert story.ready() == [B]  # of one instance none may go down as an outlier, of two one might


def test_a_weight_reaches_routing() -> None:
    story = story_of(A, B)
    story.enlist(registration("a", "10.0.0.1:8000", weight=4.0), TWO)

    assert [one.weight for one in story.view().ready] == [4.0, 1.0]
    assert [one.weight for one in story.seen[-1:]] == [4.0]


def test_a_critical_check_is_a_hint_a_passing_probe_outweighs_it() -> None:
    story = story_of(A, B)
    story.schedule.drop(story.key(B))
    story.enlist(registration("a", "10.0.0.1:8000", check=CheckState.CRITICAL), TWO)

    assert story.ready() == [A, B]
    assert story.schedule.take_due() == story.key(A)  # it is asked at once
    story.probe(A)
    assert story.ready() == [A, B]


def test_a_critical_check_makes_one_failing_probe_proof_enough() -> None:
    doubted, trusted = story_of(A, B), story_of(A, B)
    doubted.enlist(registration("a", "10.0.0.1:8000", check=CheckState.CRITICAL), TWO)
    for story in (doubted, trusted):
        story.probe(A, outcome=ProbeOutcome.FAILED)

    assert doubted.ready() == [B]
    assert trusted.ready() == [A, B]


def test_a_new_instance_with_a_critical_check_is_used_once_its_probe_passed() -> None:
    story = Story(has_catalogue=True)
    story.apply(contract(service=SERVICE))
    story.enlist(registration("a", "10.0.0.1:8000", check=CheckState.CRITICAL))

    assert story.ready() == []
    story.probe(A)
    assert story.ready() == [A]


def test_nothing_is_missed_before_the_first_list_has_come() -> None:
    story = Story(has_catalogue=True)
    story.apply(contract(service=SERVICE))
    assert Kind.VERSION_UNSERVED not in story.kinds()

    story.show({SERVICE: Listing(SERVICE, problem="Consul cannot be reached")})
    assert story.kinds() == [Kind.CATALOGUE_DOUBTED]

    story.enlist()
    (unserved,) = [one for one in story.told if one.kind is Kind.VERSION_UNSERVED]
    assert unserved.reason == "service bert lists no instance of it"


def test_a_gateway_without_a_catalogue_says_at_once_that_nothing_serves() -> None:
    story = Story()
    story.apply(contract(service=SERVICE))

    assert Kind.VERSION_UNSERVED in story.kinds()


def test_a_contract_that_changes_keeps_the_instances_of_its_service() -> None:
    story = story_of(A, B)
    story.apply(contract(service=SERVICE, strikes=9))

    assert story.ready() == [A, B]
    assert story.fleet.current().generation == 2


def test_a_contract_that_comes_later_finds_its_instances_listed() -> None:
    story = story_of(A)
    story.enlist(ONE, registration("n", "10.0.0.3:8000", "v2.0.0"))
    assert story.kinds() == [Kind.REGISTRATION_ODD]

    story.apply(contract(service=SERVICE), contract("v2.0.0", service=SERVICE))
    assert [one.url for one in story.view("v2.0.0").instances] == ["http://10.0.0.3:8000"]
    assert Kind.REGISTRATION_MENDED in story.kinds()


def test_an_odd_registration_is_told_once_by_name_and_reason() -> None:
    story = story_of(A)
    odd = registration("x", "10.0.0.9:8000", None, fault="names no version; write it into Meta.version")
    story.enlist(ONE, odd)
    story.enlist(ONE, odd, TWO)

    (told,) = [one for one in story.told if one.kind is Kind.REGISTRATION_ODD]
    assert (told.key, told.instance, told.cause) == ("bert/n1/x", "10.0.0.9:8000", "unreadable")
    assert told.reason.startswith("names no version")


def test_a_contract_that_leaves_takes_its_instances_with_it() -> None:
    story = story_of(A)
    story.apply(contract("v2.0.0", service=SERVICE))

    assert story.fleet.tracked == {}
    assert story.schedule.take_due() is None


def test_a_contract_that_moves_to_a_service_keeps_its_instances_until_that_lists_any() -> None:
    story = Story(has_catalogue=True)
    story.apply(contract("v1.0.0", A, B))
    story.probe(A)
    story.probe(B)
    story.apply(contract(service=SERVICE))
    assert story.ready() == [A, B]

    story.enlist()  # nobody has registered yet
    assert story.ready() == [A, B]
    story.enlist(TWO)
    assert story.ready() == [B]
