"""Which registration becomes an instance of which contract, and what is odd about the others."""

from __future__ import annotations

from typing import Any

import pytest

from contracts.contract import Contract, parse_contract
from gateway.control.catalogue import Choice, choose, models_listed_otherwise, services_of
from gateway.control.oddities import Oddity
from gateway.sources.listing import CheckState, Listing, Registration, take
from tests.support.control import contract
from tests.support.registrations import SERVICE, listing, registration


def served(version: str = "v1.0.0", *, model_id: str = "m", service: str = SERVICE, **fields: Any) -> Contract:
    return parse_contract(contract(version, model_id=model_id, service=service, **fields))


def chosen(contracts: list[Contract], *listings: Listing) -> Choice:
    return choose(contracts, {one.service: one for one in listings})


def urls(choice: Choice, version: str = "v1.0.0", model_id: str = "m") -> list[str]:
    return [one.url for one in choice.instances[model_id, version]]


def oddities(choice: Choice) -> list[tuple[str, Oddity]]:
    return [(fault.registration, fault.oddity) for fault in choice.faults]


A, B = "10.0.0.1:8000", "10.0.0.2:8000"


def test_an_instance_belongs_to_the_contract_of_its_version() -> None:
    choice = chosen(
        [served("v1.0.0"), served("v1.0.0+cu12")],
        listing(registration("a", A, "1.0.0"), registration("b", B, "v1.0.0+cu12")),
    )

    assert urls(choice, "v1.0.0") == [f"http://{A}"]
    assert urls(choice, "v1.0.0+cu12") == [f"http://{B}"]
    assert choice.faults == ()


def test_and_of_its_model_where_it_names_one() -> None:
    contracts = [served(model_id="m"), served(model_id="other")]
    choice = chosen(contracts, listing(registration("a", A, model_id="other"), registration("b", B, model_id="m")))

    assert (urls(choice), urls(choice, model_id="other")) == ([f"http://{B}"], [f"http://{A}"])


def test_what_a_registration_says_goes_along() -> None:
    one = registration("a", A, weight=10.0, check=CheckState.CRITICAL, maintenance="disk", dna="a1b2c3d4", node="gpu7")
    (listed,) = chosen([served()], listing(one)).instances["m", "v1.0.0"]

    assert (listed.weight, listed.is_doubted, listed.registration, listed.dna) == (10.0, True, "gpu7/a", "a1b2c3d4")
    assert listed.draining == "by an operator's wish: disk"


def test_maintenance_without_a_reason_drains_all_the_same() -> None:
    (listed,) = chosen([served()], listing(registration("a", A, maintenance=""))).instances["m", "v1.0.0"]

    assert listed.draining == "by an operator's wish"


def test_a_service_that_was_not_read_gives_nothing_and_a_contract_without_one_is_not_asked_about() -> None:
    choice = chosen([served(), parse_contract(contract("v2.0.0", f"http://{A}"))])

    assert choice.instances == {("m", "v1.0.0"): ()}
    assert not choice.is_read(SERVICE)


@pytest.mark.parametrize(
    ("odd", "oddity", "words"),
    [
        pytest.param(
            registration("x", B, None, fault="names no version; write it into Meta.version"),
            Oddity.UNREADABLE,
            "names no version",
            id="no-version",
        ),
        pytest.param(
            registration("x", B, "v9.0.0"),
            Oddity.NO_CONTRACT,
            'states v9.0.0, and no contract with service "bert" is of that; there is v1.0.0',
            id="a-version-without-contract",
        ),
        pytest.param(
            registration("x", B, model_id="n"), Oddity.NO_CONTRACT, 'states v1.0.0 of "n", and no', id="another-model"
        ),
        pytest.param(
            registration("x", A, node="n2"), Oddity.DUPLICATE, "says the same as n1/a; deregister one", id="twice"
        ),
        pytest.param(
            registration("x", A, node="n2", scheme="https"),
            Oddity.DUPLICATE,
            "has the address of n1/a, which says another Meta.scheme and is the one used; deregister what is wrong",
            id="twice-and-once-by-tls",
        ),
    ],
)
def test_what_is_odd_is_shown_and_never_used(odd: Registration, oddity: Oddity, words: str) -> None:
    choice = chosen([served()], listing(registration("a", A), odd))

    assert urls(choice) == [f"http://{A}"]
    assert oddities(choice) == [(f"{odd.node}/x", oddity)]
    assert words in choice.faults[0].message


def test_two_claims_to_one_address_are_shown_on_both_and_the_probe_decides() -> None:
    choice = chosen([served("v1.0.0"), served("v2.0.0")], listing(registration("a", A), registration("b", A, "v2.0.0")))

    assert urls(choice, "v1.0.0") == urls(choice, "v2.0.0") == [f"http://{A}"]
    assert oddities(choice) == [("n1/a", Oddity.SHARED_ADDRESS), ("n1/b", Oddity.SHARED_ADDRESS)]
    assert choice.faults[0].message.startswith("has its address from n1/b of bert (v2.0.0) too; the probe decides")


def test_two_claims_to_one_address_are_seen_though_one_says_tls() -> None:
    plain, secure = registration("a", A), registration("b", A, "v2.0.0", scheme="https")
    choice = chosen([served("v1.0.0"), served("v2.0.0")], listing(plain, secure))

    assert (urls(choice, "v1.0.0"), urls(choice, "v2.0.0")) == ([f"http://{A}"], [f"https://{A}"])
    assert oddities(choice) == [("n1/a", Oddity.SHARED_ADDRESS), ("n1/b", Oddity.SHARED_ADDRESS)]


def test_two_services_on_one_address() -> None:
    choice = chosen(
        [served("v1.0.0"), served("v2.0.0", service="gpt")],
        listing(registration("a", A)),
        listing(registration("g", A, "v2.0.0"), service="gpt"),
    )

    assert [(fault.service, fault.oddity) for fault in choice.faults] == [
        ("bert", Oddity.SHARED_ADDRESS),
        ("gpt", Oddity.SHARED_ADDRESS),
    ]


def test_what_comes_and_goes_is_shown_and_used_once_its_probe_passed() -> None:
    steady, restless = registration("a", A), registration("b", B)
    known = listing(steady, restless)
    for turn in range(3):
        known = take(known, [steady], went_back=False, now=101.0 + turn)
        known = take(known, [steady, restless], went_back=False, now=101.5 + turn)
    choice = chosen([served()], known)

    assert oddities(choice) == [("n1/b", Oddity.FLAPPING)]
    assert "came back 3 times in five minutes" in choice.faults[0].message
    assert urls(choice) == [f"http://{A}", f"http://{B}"]


def test_the_services_to_read() -> None:
    contracts = [served(), served("v2.0.0", service="gpt", status="retired"), parse_contract(contract("v3.0.0"))]

    assert services_of(contracts) == chosen(contracts).services == {SERVICE}


def test_models_whose_instances_are_listed_otherwise() -> None:
    one, two = served(), served(model_id="n", service="gpt")
    before = chosen([one, two], listing(registration("a", A)), listing(service="gpt"))
    heavier = chosen([one, two], listing(registration("a", A, weight=2.0)), listing(service="gpt"))

    assert models_listed_otherwise(before, before, [one, two]) == {}
    assert models_listed_otherwise(before, heavier, [one, two]) == {"m": [one]}
    assert set(models_listed_otherwise(Choice(), before, [one, two])) == {"m", "n"}
