import json
from collections.abc import Collection

import pytest

from contracts.contract import Contract, parse_contract
from contracts.key import DocumentKey, parse_key
from contracts.ties import find_ties, named


def documents(*keys: str, retired: Collection[str] = ()) -> dict[DocumentKey, Contract]:
    made = {}
    for text in keys:
        key = parse_key(f"contracts/{text}")
        status = "retired" if text in retired else "active"
        made[key] = parse_contract(
            json.dumps({"model_id": key.model_id, "version": str(key.version), "status": status}), key=key
        )
    return made


def ties(*keys: str, in_force: Collection[str] = (), retired: Collection[str] = ()) -> tuple[list[str], list[str]]:
    before = {parse_key(f"contracts/{text}") for text in in_force}
    refused, tied = find_ties(documents(*keys, retired=retired), before)
    return [str(key).removeprefix("contracts/") for key in refused], [
        str(key).removeprefix("contracts/") for key in tied
    ]


@pytest.mark.parametrize(
    ("keys", "in_force", "refused", "tied"),
    [
        pytest.param(["m/v1.0.0", "m/v1.0.1"], [], [], [], id="two-versions"),
        pytest.param(["m/v1.0.0-rc.1", "m/v1.0.0"], [], [], [], id="a-pre-release-is-no-tie"),
        pytest.param(["m/v1.0.0", "n/v1.0.0+b"], [], [], [], id="two-models"),
        pytest.param(["m/v1.0.0", "m/v1.0.0+b"], ["m/v1.0.0"], ["m/v1.0.0+b"], [], id="the-second-is-refused"),
        pytest.param(["m/v1.0.0", "m/v1.0.0+b"], ["m/v1.0.0+b"], ["m/v1.0.0"], [], id="whichever-that-is"),
        pytest.param(["m/v1.0.0", "m/v1.0.0+b"], [], [], ["m/v1.0.0", "m/v1.0.0+b"], id="cold-start"),
        pytest.param(
            ["m/v1.0.0+a", "m/v1.0.0+b"],
            ["m/v1.0.0+a", "m/v1.0.0+b"],
            [],
            ["m/v1.0.0+a", "m/v1.0.0+b"],
            id="tied-before-and-still",
        ),
        pytest.param(
            ["m/v1.0.0", "m/v1.0.0+a", "m/v1.0.0+b"],
            ["m/v1.0.0+a", "m/v1.0.0+b"],
            ["m/v1.0.0"],
            ["m/v1.0.0+a", "m/v1.0.0+b"],
            id="a-third-one",
        ),
        pytest.param(
            ["m/v1.0.0", "m/v1.0.0+a", "m/v1.0.0+b"], ["m/v1.0.0"], ["m/v1.0.0+a", "m/v1.0.0+b"], [], id="two-newcomers"
        ),
    ],
)
def test_builds_of_one_version_tie(keys: list[str], in_force: list[str], refused: list[str], tied: list[str]) -> None:
    assert ties(*keys, in_force=in_force) == (refused, tied)


def test_a_retired_build_stands_in_nobodys_way() -> None:
    assert ties("m/v1.0.0", "m/v1.0.0+b", in_force=["m/v1.0.0"], retired=["m/v1.0.0"]) == ([], [])


def test_both_keys_are_named() -> None:
    plain, build = documents("m/v1.0.0", "m/v1.0.0+b")

    refused, _ = find_ties(documents("m/v1.0.0", "m/v1.0.0+b"), {plain})
    assert refused[build].path == "/version"
    assert "contracts/m/v1.0.0+b ties with contracts/m/v1.0.0, which came first" in refused[build].message

    _, tied = find_ties(documents("m/v1.0.0", "m/v1.0.0+b"), ())
    assert tied[plain].severity == "warning"
    assert "contracts/m/v1.0.0 ties with contracts/m/v1.0.0+b" in tied[plain].message
    assert "contracts/m/v1.0.0+b ties with contracts/m/v1.0.0:" in tied[build].message


def test_long_lists_of_keys_are_cut() -> None:
    keys = [parse_key(f"contracts/m/v1.0.{patch}") for patch in range(14)]

    assert named(keys[:2]) == "contracts/m/v1.0.0, contracts/m/v1.0.1"
    assert named(keys[:2], but=keys[0]) == "contracts/m/v1.0.1"
    assert named(keys, but=keys[0]).startswith("contracts/m/v1.0.1, ")
    assert named(keys, but=keys[0]).endswith("contracts/m/v1.0.10 and 3 more")
    assert named(keys, but=keys[13]).endswith("contracts/m/v1.0.9 and 3 more")
