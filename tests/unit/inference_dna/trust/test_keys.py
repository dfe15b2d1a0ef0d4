from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from inference_dna.canonical import Refused
from inference_dna.manifest import key_id
from inference_dna.trust.base64url import decode_base64url, encode_base64url
from inference_dna.trust.keys import Algorithm, TrustedKey, gpg_key, parse_keys, read_public_key
from inference_dna.trust.pem import load_private_key, load_public_key, new_key_pair

RAW = bytes(range(32))
ENTRY = {"alg": "ed25519", "public_key": encode_base64url(RAW)}
FINGERPRINT = "0123456789ABCDEF0123456789ABCDEF01234567"


def keys(*entries: Any) -> tuple[TrustedKey, ...]:
    return parse_keys(json.dumps({"keys": entries}))


def test_a_document_of_keys() -> None:
    bounds = {"not_before": "2025-01-01T00:00:00Z", "not_after": "2026-01-01T00:00:00+00:00"}
    first, second = keys({**ENTRY, **bounds}, {"alg": "gpg", "fingerprint": FINGERPRINT.lower(), "public_key": "AA"})

    assert (first.algorithm, first.id, first.material) == (Algorithm.ED25519, key_id(RAW), RAW)
    assert (first.not_before, first.not_after) == (datetime(2025, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC))
    assert (second.algorithm, second.id, second.material) == (Algorithm.GPG, FINGERPRINT, b"AA")


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        pytest.param({}, "`alg` of a key", id="no-algorithm"),
        pytest.param({"alg": "rsa"}, "must be one of ed25519, gpg", id="other-algorithm"),
        pytest.param({"alg": "ed25519"}, "needs `public_key`", id="no-key"),
        pytest.param({**ENTRY, "public_key": "AA"}, "32 raw bytes", id="short-key"),
        pytest.param({**ENTRY, "public_key": encode_base64url(RAW) + "="}, "32 raw bytes", id="padded"),
        pytest.param({**ENTRY, "expires": "never"}, "unknown members: expires", id="misspelt-bound"),
        pytest.param({**ENTRY, "not_after": "2026-01-01T00:00:00"}, "must name its zone", id="no-zone"),
        pytest.param({**ENTRY, "not_after": "soon"}, "must be a time", id="no-time"),
        pytest.param({**ENTRY, "not_after": 5}, "must be a time", id="time-is-a-number"),
        pytest.param({"alg": "gpg", "fingerprint": "DEADBEEF"}, "all 40 hex", id="short-key-id"),
        pytest.param("ed25519", "is an object", id="text"),
    ],
)
def test_keys_that_are_refused(entry: Any, why: str) -> None:
    with pytest.raises(Refused, match=why):
        keys(entry)


@pytest.mark.parametrize("document", ["[]", "{}", '{"keys": []}', '{"keys": {}}', "{"])
def test_documents_without_keys_are_refused(document: str) -> None:
    with pytest.raises(Refused):
        parse_keys(document)


@pytest.mark.parametrize(
    ("now", "why"),
    [
        pytest.param(datetime(2024, 12, 31, tzinfo=UTC), "counts only from 2025-01-01", id="too-early"),
        pytest.param(datetime(2025, 1, 1, tzinfo=UTC), None, id="first-moment"),
        pytest.param(datetime(2025, 12, 31, tzinfo=UTC), None, id="last-day"),
        pytest.param(datetime(2026, 1, 1, tzinfo=UTC), "expired at 2026-01-01", id="expired"),
    ],
)
def test_a_key_counts_within_its_bounds(now: datetime, why: str | None) -> None:
    (key,) = keys({**ENTRY, "not_before": "2025-01-01T00:00:00Z", "not_after": "2026-01-01T00:00:00Z"})
    refusal = key.refusal(now)

    assert refusal is None if why is None else why in (refusal or "")
    assert keys(ENTRY)[0].refusal(now) is None


def test_a_fingerprint_may_be_written_in_groups() -> None:
    assert gpg_key("0123 4567 89ab cdef 0123  4567 89AB CDEF 0123 4567").id == FINGERPRINT


def test_a_new_pair_reads_back() -> None:
    private, public = new_key_pair()
    raw = load_private_key(private).public_key().public_bytes_raw()

    assert read_public_key(public).material == raw
    assert read_public_key(public).id == key_id(raw)


def test_a_private_key_may_have_a_passphrase() -> None:
    private, _ = new_key_pair(b"secret")

    assert b"ENCRYPTED" in private
    assert load_private_key(private, b"secret").public_key().public_bytes_raw()
    with pytest.raises(Refused, match="one of the two is missing"):
        load_private_key(private)
    with pytest.raises(Refused, match="its passphrase right"):
        load_private_key(private, b"guess")
    with pytest.raises(Refused, match="one of the two is missing"):
        load_private_key(new_key_pair()[0], b"secret")


def test_keys_of_another_kind_are_refused() -> None:
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    key = generate_private_key(SECP256R1())
    with pytest.raises(Refused, match="not Ed25519"):
        load_private_key(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    with pytest.raises(Refused, match="not Ed25519"):
        load_public_key(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    with pytest.raises(Refused, match="cannot be read"):
        load_public_key(b"no key")


@pytest.mark.parametrize("text", ["AA==", "A", "A A", "AB", "+/", "ä"])
def test_base64url_has_one_spelling(text: str) -> None:
    assert decode_base64url(text) is None


@pytest.mark.parametrize("content", [b"", b"\0", b"\xfb\xff", bytes(range(256))])
def test_base64url_reads_what_it_wrote(content: bytes) -> None:
    assert decode_base64url(encode_base64url(content)) == content
