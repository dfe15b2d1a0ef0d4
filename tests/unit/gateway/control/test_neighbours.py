"""An edit is checked against its neighbours only, and finds what checking all against all finds."""

from __future__ import annotations

import json
from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.contract import Contract
from contracts.document_set import check_set
from contracts.route import Route
from gateway.control.assemble import assemble
from gateway.control.documents import NO_DOCUMENTS, Documents
from gateway.control.neighbours import neighbours
from tests.support.control import digest, dna, reading

URLS = ("http://10.0.0.1:1", "http://10.0.0.2:1", "http://10.0.0.3:1")


def contract(model_id: str, version: str, *, seeds: str = "", urls: tuple[str, ...] = (), **fields: object) -> str:
    accepted = [{"dna": dna(seed), "digest": digest(seed)} for seed in seeds]
    document = {"model_id": model_id, "version": version, "dna": accepted, "instances": list(urls), **fields}
    return json.dumps(document)


def texts(*documents: str) -> dict[str, str]:
    named = [(json.loads(text), text) for text in documents]
    return {f"contracts/{each['model_id']}/{each['version']}": text for each, text in named}


def near(documents: Documents, key: str) -> set[str]:
    values: dict[str, Contract | Route] = {
        name: entry.in_force.value for name, entry in documents.entries.items() if entry.in_force
    }
    return set(neighbours([values[key]], values))


def test_neighbours_are_of_one_model_or_state_the_same_digest_or_address_and_so_on() -> None:
    documents = assemble(
        NO_DOCUMENTS,
        reading(
            texts(
                contract("a", "v1.0.0", seeds="a"),
                contract("a", "v2.0.0"),
                contract("b", "v1.0.0", seeds="a", urls=URLS[:1]),
                contract("c", "v1.0.0", urls=URLS[:1]),
                contract("d", "v1.0.0", seeds="d", urls=URLS[1:2]),
            )
        ),
    )

    assert near(documents, "contracts/a/v2.0.0") == {
        "contracts/a/v1.0.0",
        "contracts/a/v2.0.0",
        "contracts/b/v1.0.0",
        "contracts/c/v1.0.0",
    }
    assert near(documents, "contracts/d/v1.0.0") == {"contracts/d/v1.0.0"}


def test_who_shared_an_address_until_this_edit_is_not_warned_any_more() -> None:
    shared = texts(contract("a", "v1.0.0", urls=URLS[:1]), contract("b", "v1.0.0", urls=URLS[:1]))
    before = assemble(NO_DOCUMENTS, reading(shared))
    after = assemble(before, reading(shared | texts(contract("a", "v1.0.0", urls=URLS[1:2]))))

    assert "the same address" in str(before.entries["contracts/b/v1.0.0"].warnings)
    assert "the same address" not in str(after.entries["contracts/b/v1.0.0"].warnings)


_CONTRACTS = st.builds(
    lambda model, version, seeds, urls, successor, status: contract(
        model,
        version,
        seeds="".join(sorted(seeds)),
        urls=tuple(sorted(urls)),
        **({} if successor in {None, version} else {"successor": successor}),
        status=status,
    ),
    st.sampled_from("abc"),
    versions := st.sampled_from(["v1.0.0", "v1.0.0+b", "v2.0.0"]),
    st.sets(st.sampled_from("ab"), max_size=1),
    st.sets(st.sampled_from(URLS), max_size=2),
    st.none() | versions,
    st.sampled_from(["active", "retired"]),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(_CONTRACTS, min_size=1, max_size=4), min_size=1, max_size=6))
def test_edit_after_edit_finds_what_a_check_of_everything_finds(edits: list[list[str]]) -> None:
    lying: dict[str, str] = {}
    documents = NO_DOCUMENTS
    for edit in edits:
        lying = lying | texts(*edit)
        documents = assemble(documents, reading(lying))
        assert _warnings(documents) == _warnings_of_all(documents)
        values = [entry.in_force.value for entry in documents.entries.values() if entry.in_force]
        assert list(documents.contracts.values()) == [value for value in values if isinstance(value, Contract)]


def _warnings(documents: Documents) -> Mapping[str, set[str]]:
    return {
        key: set(map(str, entry.warnings)) for key, entry in documents.entries.items() if entry.in_force is not None
    }


def _warnings_of_all(documents: Documents) -> Mapping[str, set[str]]:
    untied = documents.contracts.keys() - documents.tied
    findings = check_set(documents.contracts, documents.routes, in_force=untied)
    assert (findings.tied, dict(findings.refused)) == (documents.tied, {})
    served = {str(place): (place, value) for place, value in documents.contracts.items()}
    return {
        key: {str(fault) for fault in (*value.warnings, *findings.warnings.get(place, ()))}
        for key, (place, value) in served.items()
    }
