import json
from typing import Any

import pytest

from contracts.advice import contract_advice, route_advice
from contracts.contract import Contract, parse_contract
from contracts.key import DocumentKey
from contracts.route import parse_route

D1, D2 = "sha256:" + "1" * 64, "sha256:" + "2" * 64
LABEL = {"dna": "a1b2c3d400000000"}


def contracts(*documents: dict[str, Any]) -> dict[DocumentKey, Contract]:
    made = [
        parse_contract(json.dumps({"model_id": "m", "version": "v1.0.0", "dna": [LABEL], **each})) for each in documents
    ]
    return {DocumentKey("contract", each.model_id, each.version): each for each in made}


def about_contracts(*documents: dict[str, Any]) -> list[str]:
    advice = list(contract_advice(contracts(*documents)))
    assert {fault.severity for _, fault in advice} <= {"warning"}
    return [f"{key} {fault}" for key, fault in advice]


def about_route(route: str, *documents: dict[str, Any]) -> list[str]:
    key = DocumentKey("route", "m")
    advice = list(route_advice({key: parse_route("model_id: m\n" + route)}, contracts(*documents)))
    assert {(where, fault.severity) for where, fault in advice} <= {(key, "warning")}
    return [str(fault) for _, fault in advice]


def test_a_sound_set_is_told_nothing() -> None:
    assert about_contracts({"successor": "v1.1.0"}, {"version": "v1.1.0", "dna": [{"digest": D1}]}) == []
    rules = "canary_rules: [{version: 1.0.0, traffic_percentage: 5, dna_prefix: a1b2}]"
    assert about_route(f"default: stable\naliases: {{stable: ^1}}\n{rules}", {}) == []


@pytest.mark.parametrize(
    ("document", "said"),
    [
        pytest.param({"owner": "us"}, "/owner: is unknown and has no effect.", id="what-the-reader-warned-about"),
        pytest.param({"successor": "v9.0.0"}, "/successor: v9.0.0 has no contract", id="successor"),
        pytest.param(
            {"instances": ["http://a:1"], "draining": ["a:2"]},
            '/draining/0: "a:2" is none of its instances, so nothing is drained by it.',
            id="drains-a-stranger",
        ),
        pytest.param(
            {"instances": ["http://a:1", "http://a:2/b/"], "draining": ["a:2/b", "a:1"]},
            "/draining: every instance is drained, so this version serves nothing.",
            id="drains-all",
        ),
        pytest.param(
            {"dna": []}, "/dna: nothing is accepted, so this version serves nothing", id="enforce-without-dna"
        ),
        pytest.param(
            {"version": "v1.0.0-rc1"},
            '/version: "rc1" is ordered by letter, rc10 before rc2; write rc.1.',
            id="glued-number",
        ),
        pytest.param(
            {"version": "v1.0.0-7.beta12"}, '/version: "beta12" is ordered by letter', id="glued-number-later"
        ),
    ],
)
def test_what_a_contract_is_told(document: dict[str, Any], said: str) -> None:
    [advice] = about_contracts(document)

    assert f" {said}" in advice


@pytest.mark.parametrize(
    "document",
    [
        {"dna": [], "enforcement": "observe"},
        {"dna": [], "status": "retired"},
        {"version": "v1.0.0-rc.1"},
        {"version": "v1.0.0-a1b2"},
        {"version": "v1.0.0+b1"},
    ],
)
def test_what_a_contract_is_not_told(document: dict[str, Any]) -> None:
    assert about_contracts(document) == []


def test_two_versions_of_one_digest_are_reported_on_both() -> None:
    assert about_contracts({"dna": [LABEL, {"digest": D1}]}, {"version": "v1.1.0", "dna": [{"digest": D1}]}) == [
        "contracts/m/v1.0.0 /dna/1: the same digest stands in contracts/m/v1.1.0.",
        "contracts/m/v1.1.0 /dna/0: the same digest stands in contracts/m/v1.0.0.",
    ]


def test_one_address_of_two_versions_is_reported_on_both() -> None:
    said = about_contracts(
        {"instances": ["http://a:1", "http://b:1"]},
        {"version": "v1.1.0", "instances": ["http://B:1/"]},
        {"model_id": "n", "instances": ["http://b:1"]},
    )

    assert said == [
        "contracts/m/v1.0.0 /instances/1: the same address stands in contracts/m/v1.1.0 and 1 more.",
        "contracts/m/v1.1.0 /instances/0: the same address stands in contracts/m/v1.0.0 and 1 more.",
        "contracts/n/v1.0.0 /instances/0: the same address stands in contracts/m/v1.0.0 and 1 more.",
    ]


@pytest.mark.parametrize(
    ("route", "said"),
    [
        pytest.param("owner: us", "/owner: is unknown and has no effect.", id="what-the-reader-warned-about"),
        pytest.param("default: 2.0.0", "/default: no contract is of a version that this selects.", id="exact-default"),
        pytest.param("default: ^2", "/default: no contract is of a version that this selects.", id="default-range"),
        pytest.param("aliases: {old: ^0}", "/aliases/old: no contract is of a version that this selects.", id="alias"),
        pytest.param(
            "canary_rules: [{version: 2.0.0, traffic_percentage: 5}]",
            "/canary_rules/0/version: v2.0.0 has no contract, so the rule has no effect.",
            id="rule",
        ),
        pytest.param(
            "canary_rules: [{version: 1.0.0, traffic_percentage: 5, dna_prefix: ff}]",
            '/canary_rules/0/dna_prefix: "ff" begins no DNA that v1.0.0 accepts.',
            id="prefix-of-nobody",
        ),
        pytest.param(
            "canary_rules: [{version: 1.0.0, traffic_percentage: 5, dna_prefix: a1b2}]",
            '/canary_rules/0/dna_prefix: "a1b2" begins the DNA of 2 stacks: a1b2c3d4, a1b2ffff; write more of it.',
            id="prefix-of-two-stacks",
        ),
    ],
)
def test_what_a_route_is_told(route: str, said: str) -> None:
    assert about_route(route, {"dna": [LABEL, {"dna": "a1b2ffff00000000"}]}) == [said]


@pytest.mark.parametrize(
    "route",
    [
        "canary_rules: [{version: 1.0.0, traffic_percentage: 5, dna_prefix: a1b}]",
        "canary_rules: [{version: 1.0.0, traffic_percentage: 5, dna_prefix: a1b2c}]",
        "canary_rules: [{version: 1.0.0, traffic_percentage: 5}]",
        "default: 1.x",
        "sticky: none",
    ],
)
def test_what_a_route_is_not_told(route: str) -> None:
    assert about_route(route, {"dna": [LABEL, {"dna": "a1b2ffff00000000"}]}) == []


def test_a_contract_without_labels_says_nothing_about_prefixes() -> None:
    rule = "canary_rules: [{version: 1.0.0, traffic_percentage: 5, dna_prefix: ffff}]"

    assert about_route(rule, {"dna": [{"digest": D2}]}) == []


def test_a_route_of_a_model_without_contracts_is_told_only_that() -> None:
    assert about_route("default: ^1", {"model_id": "n"}) == ['/model_id: no contract is of the model "m".']
