from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from inference_dna.canonical import Refused
from inference_dna.manifest import Manifest, parse_manifest
from inference_dna.trust.keys import TrustedKey, read_public_key
from inference_dna.trust.pem import new_key_pair
from inference_dna.trust.signing import Signers, sign_ed25519, signers
from tests.support.manifests import manifest_document

NOW = datetime(2025, 2, 1, tzinfo=UTC)
PRIVATE, PUBLIC = new_key_pair()
KEY = read_public_key(PUBLIC)
OTHER_PRIVATE, OTHER_PUBLIC = new_key_pair()
OTHER = read_public_key(OTHER_PUBLIC)


def signed(*private: bytes) -> dict[str, Any]:
    document = manifest_document()
    for key in private:
        document = sign_ed25519(document, key)
    return document


def read(document: dict[str, Any]) -> Manifest:
    return parse_manifest(json.dumps(document))


def judged(document: dict[str, Any], *keys: TrustedKey, now: datetime = NOW) -> Signers:
    return signers(read(document), keys, now=now)


def test_a_signature_by_a_trusted_key_is_good() -> None:
    found = judged(signed(PRIVATE), KEY)

    assert found == Signers((KEY.id,), (), ())
    assert found.require() == (KEY.id,)


def test_one_of_several_is_enough() -> None:
    found = judged(signed(OTHER_PRIVATE, PRIVATE), KEY)

    assert found.require() == (KEY.id,)
    assert found.unproven == (f"the key {OTHER.id!a} is not trusted",)


def test_signing_twice_with_one_key_leaves_one_signature() -> None:
    assert len(signed(PRIVATE, PRIVATE)["signatures"]) == 1
    assert len(signed(PRIVATE, OTHER_PRIVATE)["signatures"]) == 2


@pytest.mark.parametrize(
    ("document", "keys", "why"),
    [
        pytest.param(manifest_document(), [KEY], "carries no signature", id="unsigned"),
        pytest.param(signed(OTHER_PRIVATE), [KEY], "is not trusted", id="wrong-key"),
        pytest.param(signed(PRIVATE), [], "is not trusted", id="nobody-is-trusted"),
        pytest.param(signed(PRIVATE), [replace(KEY, not_after=NOW)], "expired at", id="expired-key"),
        pytest.param(
            signed(PRIVATE), [replace(KEY, not_before=datetime(2026, 1, 1, tzinfo=UTC))], "only from", id="key-of-later"
        ),
        pytest.param(
            {**manifest_document(), "signatures": [{"alg": "rot13", "kid": KEY.id, "sig": "AA"}]},
            [KEY],
            "'rot13' is not known",
            id="unknown-algorithm",
        ),
    ],
)
def test_what_is_not_signed_by_a_trusted_key(document: dict[str, Any], keys: list[TrustedKey], why: str) -> None:
    found = judged(document, *keys)

    assert not found.good
    with pytest.raises(Refused, match=why):
        found.require()


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"created_at": "2026-01-01T00:00:00Z"}, id="another-time"),
        pytest.param({"subject": {"model_id": "other", "version": "v2.4.0"}}, id="another-model"),
        pytest.param({"subject": {"model_id": "bert-base-chinese", "version": "v9.0.0"}}, id="another-version"),
        pytest.param({"assurance": "attested"}, id="another-assurance"),
    ],
)
def test_a_signature_holds_for_everything_in_the_document(change: dict[str, Any]) -> None:
    found = judged({**signed(PRIVATE), **change}, KEY)

    assert found.bad == (f"the key {KEY.id} did not sign this content",)
    with pytest.raises(Refused, match="bad signature"):
        found.require()


def test_a_bad_signature_by_a_trusted_key_refuses_beside_a_good_one() -> None:
    document = signed(PRIVATE, OTHER_PRIVATE)
    document["signatures"][1]["sig"] = document["signatures"][0]["sig"]

    with pytest.raises(Refused, match="bad signature"):
        judged(document, KEY, OTHER).require()


@pytest.mark.parametrize("sig", ["", "AA", "not base64", 7, None])
def test_a_signature_that_cannot_be_read_is_bad(sig: Any) -> None:
    document = {**manifest_document(), "signatures": [{"alg": "ed25519", "kid": KEY.id, "sig": sig}]}

    assert judged(document, KEY).bad


def test_a_second_spelling_of_a_signature_is_bad() -> None:
    document = signed(PRIVATE)
    sig = document["signatures"][0]["sig"]
    # 64 bytes leave four unused bits in the last letter: other letters decode to the same bytes.
    document["signatures"][0]["sig"] = sig[:-1] + chr(ord(sig[-1]) + 1)

    assert judged(document, KEY).bad


def test_a_key_in_the_document_is_no_more_than_a_name() -> None:
    document = signed(OTHER_PRIVATE)
    document["signatures"][0]["kid"] = KEY.id

    assert judged(document, KEY).bad
