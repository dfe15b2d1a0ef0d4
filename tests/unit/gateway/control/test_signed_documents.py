"""With keys that must have signed: what is not signed is refused like a broken document."""

from __future__ import annotations

import json
from typing import Any

from contracts.signature import sign
from gateway.control.assemble import assemble
from gateway.control.documents import NO_DOCUMENTS, Cause, DocumentState
from inference_dna.trust.keys import read_public_key
from inference_dna.trust.pem import new_key_pair
from tests.support.control import contract, reading, route

PRIVATE, PUBLIC = new_key_pair()
SIGNERS = (read_public_key(PUBLIC),)
KEY, ROUTE = "contracts/m/v1.0.0", "routes/m"


def signed(kind: Any, text: str) -> str:
    document = json.loads(text)
    return json.dumps({**document, "signature": sign(kind, document, PRIVATE)})


def test_signed_documents_come_into_force() -> None:
    texts = {KEY: signed("contract", contract()), ROUTE: signed("route", route(default="^1"))}

    documents = assemble(NO_DOCUMENTS, reading(texts), signers=SIGNERS)

    assert [entry.state for entry in documents.entries.values()] == [DocumentState.OK] * 2


def test_unsigned_documents_do_not() -> None:
    texts = {KEY: contract(), ROUTE: route(default="^1")}

    documents = assemble(NO_DOCUMENTS, reading(texts), signers=SIGNERS)

    assert not documents.contracts
    assert not documents.routes
    assert {entry.cause for entry in documents.entries.values()} == {Cause.INVALID}
    assert assemble(NO_DOCUMENTS, reading(texts)).contracts


def test_the_last_good_state_serves_on() -> None:
    good = signed("contract", contract())
    tampered = good.replace("}]", '}], "retries": 0', 1)
    before = assemble(NO_DOCUMENTS, reading({KEY: good}), signers=SIGNERS)

    after = assemble(before, reading({KEY: tampered}), signers=SIGNERS)

    entry = after.entries[KEY]
    assert entry.state is DocumentState.REJECTED
    assert "was changed after signing" in str(entry.faults[0])
    assert after.contracts == before.contracts
    assert assemble(after, reading({KEY: good}), signers=SIGNERS).entries[KEY].state is DocumentState.OK
