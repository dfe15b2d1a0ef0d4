import json
import time
from typing import Any

import pytest

from contracts.contract import Contract, parse_contract
from contracts.document_set import SetFindings, check_set
from contracts.key import DocumentKey
from contracts.route import Route, parse_route
from contracts.version import Version

DIGEST = "sha256:" + "1" * 64


def key(version: str, model_id: str = "m") -> DocumentKey:
    return DocumentKey("contract", model_id, Version.parse(version))


def contracts(*documents: dict[str, Any]) -> dict[DocumentKey, Contract]:
    made = [
        parse_contract(json.dumps({"model_id": "m", "dna": [{"dna": "a1b2c3d400000000"}], **each}))
        for each in documents
    ]
    return {DocumentKey("contract", each.model_id, each.version): each for each in made}


def routes(*texts: str) -> dict[DocumentKey, Route]:
    return {DocumentKey("route", route.model_id): route for route in map(parse_route, texts)}


def test_a_sound_set_has_no_findings() -> None:
    assert (
        check_set(
            contracts({"version": "1.0.0", "successor": "1.1.0"}, {"version": "1.1.0"}),
            routes("model_id: m\ndefault: ^1"),
            in_force=(),
        )
        == SetFindings()
    )


def test_no_documents_have_no_findings() -> None:
    assert check_set({}, {}, in_force=()) == SetFindings()


def test_a_newcomer_that_ties_is_refused_and_disturbs_nothing_else() -> None:
    found = check_set(
        contracts({"version": "2.3.9"}, {"version": "2.3.9+hotfix"}, {"version": "2.4.0"}), {}, in_force=[key("2.3.9")]
    )

    assert set(found.refused) == {key("2.3.9+hotfix")}
    assert (found.tied, found.warnings) == (frozenset(), {})


def test_on_a_cold_start_a_tie_refuses_neither_and_warns_about_both() -> None:
    found = check_set(contracts({"version": "2.3.9"}, {"version": "2.3.9+hotfix"}), {}, in_force=())

    assert found.refused == {}
    assert found.tied == {key("2.3.9"), key("2.3.9+hotfix")}
    assert {where: [fault.path for fault in faults] for where, faults in found.warnings.items()} == {
        key("2.3.9"): ["/version"],
        key("2.3.9+hotfix"): ["/version"],
    }


def test_a_refused_document_takes_no_part_in_the_rest() -> None:
    found = check_set(
        contracts(
            {"version": "1.0.0", "successor": "2.0.0", "instances": ["http://a:1"]},
            {"version": "2.0.0", "successor": "1.0.0", "instances": ["http://a:1"], "owner": "us"},
        ),
        routes("model_id: m\ndefault: ^2"),
        in_force=[key("1.0.0")],
    )

    assert set(found.refused) == {key("2.0.0")}
    assert [fault.path for fault in found.refused[key("2.0.0")]] == ["/successor"]
    assert {str(where): [fault.path for fault in faults] for where, faults in found.warnings.items()} == {
        "contracts/m/v1.0.0": ["/successor"],
        "routes/m": ["/default"],
    }


def test_a_tie_refused_for_its_circle_is_not_called_tied() -> None:
    found = check_set(
        contracts(
            {"version": "1.0.0", "successor": "1.0.0+b"},
            {"version": "1.0.0+b", "successor": "1.0.0"},
        ),
        {},
        in_force=(),
    )

    assert set(found.refused) == {key("1.0.0+b")}
    assert found.tied == {key("1.0.0")}


def _many_models(number: int) -> dict[str, Any]:
    return {"model_id": f"m{number // 4}", "version": f"1.0.{number % 4}", "instances": [f"http://h{number}:80"]}


def _one_model(number: int) -> dict[str, Any]:
    return {"version": f"1.0.{number}", "dna": [{"digest": DIGEST}], "instances": ["http://a:80"]}


def _one_circle(number: int) -> dict[str, Any]:
    return {"version": f"1.0.{number}", "successor": f"1.0.{(number + 1) % 10_000}"}


def _one_tie(number: int) -> dict[str, Any]:
    return {"version": f"1.0.0+b{number}", "dna": [{"digest": DIGEST}]}


@pytest.mark.parametrize(
    ("shape", "refused", "tied"),
    [
        pytest.param(_many_models, 0, 0, id="many-models"),
        pytest.param(_one_model, 0, 0, id="one-model-one-digest-one-address"),
        pytest.param(_one_circle, 1, 0, id="one-circle-through-all"),
        pytest.param(_one_tie, 0, 10_000, id="all-tied"),
    ],
)
def test_10_000_documents_are_checked_in_a_moment(shape: Any, refused: int, tied: int) -> None:
    template = contracts({"version": "1.0.0"})[key("1.0.0")]
    many = {}
    for number in range(10_000):
        # Reading 10,000 texts is not what is timed here.
        each = Contract.model_validate({"model_id": template.model_id, **shape(number)})
        many[DocumentKey("contract", each.model_id, each.version)] = each

    began = time.process_time()
    found = check_set(many, routes("model_id: m\ndefault: ^1"), in_force=())
    took_s = time.process_time() - began

    assert (len(found.refused), len(found.tied)) == (refused, tied)
    # A quarter of a second when measured; a check that compares all with all takes minutes.
    assert took_s < 5
