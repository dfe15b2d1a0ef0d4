import json
from collections.abc import Collection

import pytest

from contracts.circles import find_circles
from contracts.contract import Contract, parse_contract
from contracts.key import DocumentKey, parse_key
from contracts.version import Version


def chain(**successors: str) -> dict[DocumentKey, Contract]:
    """Contracts v1.0.0, v2.0.0 and so on; `v1="v2"` means that v2.0.0 follows v1.0.0."""
    made = {}
    for version, successor in successors.items():
        document = {
            "model_id": "m",
            "version": f"{version}.0.0",
            "successor": f"{successor}.0.0" if successor else None,
        }
        key = DocumentKey("contract", "m", Version.parse(f"{version}.0.0"))
        made[key] = parse_contract(json.dumps(document), key=key)
    return made


def refused(contracts: dict[DocumentKey, Contract], in_force: Collection[str] = ()) -> list[str]:
    before = {parse_key(f"contracts/m/{version}.0.0") for version in in_force}
    return [f"v{key.version.major}" for key in find_circles(contracts, before) if key.version]


@pytest.mark.parametrize(
    ("successors", "in_force", "closing"),
    [
        pytest.param({"v1": "v2", "v2": "v3", "v3": ""}, [], [], id="a-chain"),
        pytest.param({"v1": "v9"}, [], [], id="a-successor-without-contract"),
        pytest.param({"v1": "v3", "v2": "v3", "v3": ""}, [], [], id="two-with-one-successor"),
        pytest.param({"v1": "v2", "v2": "v1"}, [], ["v2"], id="two-on-a-cold-start"),
        pytest.param({"v1": "v2", "v2": "v1"}, ["v2"], ["v1"], id="the-one-in-force-stays"),
        pytest.param({"v1": "v2", "v2": "v3", "v3": "v1"}, ["v3", "v1"], ["v2"], id="three"),
        pytest.param({"v1": "v2", "v2": "v3", "v3": "v2"}, [], ["v3"], id="a-circle-with-a-tail"),
        pytest.param({"v3": "v2", "v2": "v3", "v1": "v2"}, [], ["v3"], id="the-same-in-another-order"),
        pytest.param({"v1": "v2", "v2": "v1", "v3": "v4", "v4": "v3"}, [], ["v2", "v4"], id="two-circles"),
    ],
)
def test_the_contract_that_closes_a_circle_is_refused(
    successors: dict[str, str], in_force: list[str], closing: list[str]
) -> None:
    assert refused(chain(**successors), in_force) == closing


def test_all_keys_of_the_circle_are_named() -> None:
    [(key, fault)] = find_circles(chain(v1="v2", v2="v1"), ()).items()

    assert str(key) == "contracts/m/v2.0.0"
    assert fault.path == "/successor"
    assert "contracts/m/v2.0.0 closes a circle of successors with contracts/m/v1.0.0;" in fault.message


def test_models_do_not_mix() -> None:
    texts = [
        '{"model_id": "m", "version": "1.0.0", "successor": "2.0.0"}',
        '{"model_id": "n", "version": "2.0.0", "successor": "1.0.0"}',
    ]
    contracts = {DocumentKey("contract", each.model_id, each.version): each for each in map(parse_contract, texts)}

    assert find_circles(contracts, ()) == {}
