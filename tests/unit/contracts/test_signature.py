"""Who wrote a document, and that nothing in it changed since."""

from __future__ import annotations

import json
from typing import Any

import pytest

from contracts.contract import parse_contract
from contracts.faults import DocumentRefused
from contracts.route import parse_route
from contracts.signature import is_stale, sign, signed_bytes
from inference_dna.canonical import Refused
from inference_dna.trust.keys import TrustedKey, read_public_key
from inference_dna.trust.pem import new_key_pair

PRIVATE, _PUBLIC = new_key_pair()
OTHER_PRIVATE, _OTHER_PUBLIC = new_key_pair()
KEY, OTHER = read_public_key(_PUBLIC), read_public_key(_OTHER_PUBLIC)
CONTRACT: dict[str, Any] = {"model_id": "m", "version": "v1.0.0", "retries": 0}


def signed(document: dict[str, Any], private: bytes = PRIVATE, **changes: Any) -> str:
    return json.dumps({**document, "signature": sign("contract", document, private), **changes})


def refusal(text: str, *keys: TrustedKey) -> str:
    with pytest.raises(DocumentRefused) as refused:
        parse_contract(text, signers=keys or (KEY,))
    return str(refused.value)


def test_a_signed_document_is_accepted() -> None:
    contract = parse_contract(signed(CONTRACT), signers=(KEY,))

    assert contract.signature == {"alg": "ed25519", "kid": KEY.id, "sig": contract.signature["sig"]}  # type: ignore[index]


def test_one_of_several_keys_is_enough() -> None:
    assert parse_contract(signed(CONTRACT, OTHER_PRIVATE), signers=(KEY, OTHER)).model_id == "m"


def test_without_keys_nothing_is_checked() -> None:
    assert parse_contract(json.dumps(CONTRACT)).signature is None
    assert parse_contract(signed(CONTRACT, signature={"sig": "nonsense"})).signature == {"sig": "nonsense"}


def test_signing_again_replaces_a_signature() -> None:
    again = {**CONTRACT, "signature": {"alg": "ed25519", "kid": "x", "sig": "y"}}

    assert sign("contract", again, PRIVATE) == sign("contract", CONTRACT, PRIVATE)


def test_form_does_not_count() -> None:
    made = sign("contract", CONTRACT, PRIVATE)
    text = f"# mine\nretries: 0\nversion: v1.0.0\nmodel_id: m\nsignature: {json.dumps(made)}\n"

    assert parse_contract(text, signers=(KEY,)).retries == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param(
            json.dumps(CONTRACT), "/signature: is missing, and this gateway accepts only signed", id="missing"
        ),
        pytest.param(signed(CONTRACT, retries=1), f"the key {KEY.id} did not sign this content", id="changed"),
        pytest.param(signed(CONTRACT, strikes=7), "did not sign this content", id="a-member-more"),
        pytest.param(signed(CONTRACT, OTHER_PRIVATE), f'the key "{OTHER.id}" is none that this gateway', id="foreign"),
        pytest.param(signed(CONTRACT, signature={"alg": "ed25519"}), "must have exactly alg, kid and sig", id="form"),
        pytest.param(signed(CONTRACT, signature="x"), "must have exactly alg, kid and sig", id="no-object"),
        pytest.param(
            signed(CONTRACT, signature={"alg": "rsa", "kid": KEY.id, "sig": ""}), "no way of signing", id="algorithm"
        ),
        pytest.param(
            signed(CONTRACT, signature={"alg": "ed25519", "kid": KEY.id, "sig": "?"}), "did not sign", id="no-base64"
        ),
        pytest.param(
            signed({**CONTRACT, "x": 1}).replace('"x": 1', '"x": 99999999999999999999'),
            "cannot be checked",
            id="number",
        ),
    ],
)
def test_what_is_refused(text: str, says: str) -> None:
    assert says in refusal(text)


def test_a_missing_signature_is_told_beside_every_other_fault() -> None:
    told = refusal(json.dumps({**CONTRACT, "retries": 7}))

    assert "/retries" in told
    assert "/signature" in told


def test_a_signed_contract_is_no_signed_route() -> None:
    route = {"model_id": "m"}
    as_contract = {**route, "signature": sign("contract", route, PRIVATE)}

    with pytest.raises(DocumentRefused, match="did not sign"):
        parse_route(json.dumps(as_contract), signers=(KEY,))
    as_route = {**route, "signature": sign("route", route, PRIVATE)}
    assert parse_route(json.dumps(as_route), signers=(KEY,)).model_id == "m"


@pytest.mark.parametrize(
    ("after", "stale"),
    [
        ({"a": 1, "signature": {"sig": "x"}}, False),
        ({"a": 2, "signature": {"sig": "x"}}, True),
        ({"a": 2, "signature": {"sig": "y"}}, False),
        ({"a": 2}, False),
        ({"a": 10**30, "signature": {"sig": "x"}}, True),
    ],
)
def test_a_signature_that_was_taken_over(after: dict[str, Any], stale: bool) -> None:
    assert is_stale("contract", {"a": 1, "signature": {"sig": "x"}}, after) is stale
    assert not is_stale("contract", {"a": 1}, after)


def test_what_is_signed() -> None:
    assert signed_bytes("route", {"b": 1, "a": 0.5, "signature": {}}) == b'inference-dna/1/route\n{"a":5e-1,"b":1}'


def test_what_cannot_be_signed() -> None:
    with pytest.raises(Refused, match="64-bit"):
        sign("contract", {"a": 10**30}, PRIVATE)
    with pytest.raises(Refused, match="private key"):
        sign("contract", CONTRACT, b"no key")
