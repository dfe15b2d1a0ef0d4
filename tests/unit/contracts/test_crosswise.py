from typing import Any

import pytest

from contracts.crosswise import contract_faults, route_faults
from contracts.key import parse_key

CONTRACT = {"model_id": "m", "version": "1.0.0"}


def paths(faults: Any) -> list[str]:
    return [fault.path for fault in faults]


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"model_id": 5, "version": "1.0", "successor": "1.0"},
        {"version": 1, "successor": 1},
        {"instances": "http://a", "health_url": "http://b"},
        {"instances": [5, None, "ftp://a", "ftp://a"]},
        {"dna": [5, 5, {}, {}, {"digest": 5}, {"dna": None}]},
        {"dna": {"digest": "x"}, "bind": {"a": 1}},
        {"bind": [5, 5]},
        {"deprecated_at": "later", "sunset_at": "2026-01-01"},
        {"deprecated_at": "2026-01-01", "sunset_at": 5},
        {"health_url": 5, "service": "s"},
    ],
)
def test_members_of_a_contract_that_cannot_be_read_are_passed_over(value: dict[str, Any]) -> None:
    assert paths(contract_faults(value, parse_key("contracts/m/v1.0.0"))) == []


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"aliases": ["a"], "default": 5},
        {"aliases": {"a": None, "b": ">=x"}},
        {"canary_rules": {"version": "1.0.0"}},
        {"canary_rules": [5, 5, {}, {}, {"version": "x"}, {"version": "x"}]},
        {"canary_rules": [{"traffic_percentage": share} for share in (True, "99", None, -500, 101, 60)]},
    ],
)
def test_members_of_a_route_that_cannot_be_read_are_passed_over(value: dict[str, Any]) -> None:
    assert paths(route_faults(value, parse_key("routes/m"))) == []


def test_all_crosswise_faults_of_a_contract_are_found_together() -> None:
    value: dict[str, Any] = {
        **CONTRACT,
        "successor": "v1.0.0",
        "service": "s",
        "instances": ["http://a", "http://a:80"],
        "health_url": "http://b",
        "dna": [{"digest": "x"}, {"digest": "x", "dna": "y"}, {"dna": "y"}, {"dna": "y"}],
        "bind": ["a.b", "a.b"],
        "deprecated_at": "2026-02-01",
        "sunset_at": "2026-01-01",
    }

    assert paths(contract_faults(value, parse_key("contracts/n/v2.0.0"))) == [
        "/model_id",
        "/version",
        "/sunset_at",
        "/successor",
        "/service",
        "/health_url",
        "/instances/1",
        "/dna/1",
        "/dna/3",
        "/bind/1",
    ]


def test_without_a_key_there_is_nothing_to_agree_with() -> None:
    assert paths(contract_faults(CONTRACT, None)) == []
    assert paths(route_faults({"model_id": "m"}, None)) == []
