from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import pytest

from inference_dna.canonical import canonical
from inference_dna.serving.receipt import Receipt, ReceiptKey
from inference_dna.serving.receipt_check import Answer, Checked, Expected, Outcome, check_receipt, find_receipts
from inference_dna.trust.base64url import decode_base64url, encode_base64url
from inference_dna.trust.keys import read_public_key
from inference_dna.trust.pem import load_private_key, new_key_pair
from tests.support.standing import DIGESTS

NOW = datetime(2025, 2, 1, tzinfo=UTC)
PRIVATE, PUBLIC = new_key_pair()
KEY = read_public_key(PUBLIC)
OTHER_PRIVATE, OTHER_PUBLIC = new_key_pair()
INPUT = "a" * 64
BODY = b'{"answer": 42}'
STREAM = b": dna 0011223344556677\nevent: token\ndata: 1\n\nevent: done\ndata: 2\n\n"
COVERED = b"event: token\ndata: 1\n\nevent: done\ndata: 2\n\n"


def receipt(body: bytes = BODY, **changes: Any) -> Receipt:
    made = Receipt(
        dna=DIGESTS.dna(INPUT),
        digest=f"sha256:{DIGESTS.runtime}",
        model_id="m",
        version="v1.0.0",
        input_hash=INPUT,
        method="POST",
        path="/generate",
        request_sha256=sha256(b"question").hexdigest(),
        status=200,
        body_sha256=sha256(body).hexdigest(),
        body_bytes=len(body),
        boot_id="b" * 32,
        request_id="r-1",
        nonce="n-1",
        iat=1738324800,
    )
    return replace(made, **changes)


def headers(**changes: str) -> dict[str, str]:
    stated = {
        "content-type": "application/json",
        "x-inference-dna": DIGESTS.dna(INPUT),
        "x-inference-digest": f"sha256:{DIGESTS.runtime}",
        "x-model-id": "m",
        "x-model-version": "v1.0.0",
        "x-inference-input-hash": INPUT[:12],
    }
    return {**stated, **{name.replace("_", "-"): value for name, value in changes.items()}}


def answered(jws: str | None, body: bytes = BODY, **changes: str) -> Answer:
    sent = headers(**changes)
    return Answer(sent if jws is None else {**sent, "x-inference-receipt": jws}, body, 200)


def streamed(body: bytes) -> Answer:
    return Answer(headers(content_type="text/event-stream; charset=utf-8"), body, 200)


def signed(made: Receipt | None = None, private: bytes = PRIVATE) -> str:
    return ReceiptKey(private).sign(made or receipt())


def judged(answer: Answer, expected: Expected | None = None) -> Checked:
    return check_receipt(answer, [KEY], now=NOW, expected=expected)


def test_the_form_is_that_of_the_page() -> None:
    header, payload, _ = signed().split(".")
    stated = json.loads(decode_base64url(payload) or b"")

    assert json.loads(decode_base64url(header) or b"") == {
        "alg": "EdDSA",
        "kid": KEY.id,
        "typ": "inference-receipt+jws",
    }
    assert decode_base64url(payload) == canonical(stated).encode()
    assert set(stated) == {
        "v", "dna", "digest", "model_id", "version", "input_hash", "method", "path", "request_sha256", "status",
        "body_sha256", "body_bytes", "finish", "boot_id", "request_id", "nonce", "iat",
    }  # fmt: skip
    assert (stated["v"], stated["finish"]) == (1, "complete")


def test_other_libraries_verify_the_signature() -> None:
    import jwt

    decoded = jwt.decode(signed(), PUBLIC, algorithms=["EdDSA"], options={"verify_iat": False})

    assert decoded["dna"] == DIGESTS.dna(INPUT)


def test_a_receipt_in_the_header_is_valid() -> None:
    found = judged(answered(signed()), Expected(b"question", "n-1"))

    assert found.outcome is Outcome.VALID
    assert found.payload is not None
    assert found.payload["request_id"] == "r-1"


def test_a_receipt_at_the_end_of_a_stream_is_valid_and_comments_do_not_count() -> None:
    line = f": dna-receipt {signed(receipt(COVERED))}\n".encode()

    assert judged(streamed(STREAM + line)).outcome is Outcome.VALID
    assert judged(streamed(COVERED + line)).outcome is Outcome.VALID


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        pytest.param(answered(None), "has no receipt", id="no-receipt"),
        pytest.param(streamed(STREAM), "broke off", id="a-stream-that-broke-off"),
        pytest.param(answered(signed(private=OTHER_PRIVATE)), "is not trusted", id="unknown-key"),
        pytest.param(answered(signed(), BODY[:-1]), "cut short", id="a-copy-that-is-cut-short"),
    ],
)
def test_what_stays_unverified(answer: Answer, why: str) -> None:
    found = judged(answer)

    assert found.outcome is Outcome.UNVERIFIED
    assert why in found.reason


def test_an_expired_key_verifies_nothing() -> None:
    found = check_receipt(answered(signed()), [replace(KEY, not_after=NOW)], now=NOW)

    assert (found.outcome, "expired" in found.reason) == (Outcome.UNVERIFIED, True)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        pytest.param(answered(signed(), BODY.replace(b"42", b"43")), "body is not", id="another-body"),
        pytest.param(answered(signed(), BODY + b" "), "bytes and", id="a-longer-body"),
        pytest.param(answered(signed(), x_inference_dna="0" * 16), "x-inference-dna", id="another-dna"),
        pytest.param(answered(signed(), x_inference_digest="sha256:" + "0" * 64), "digest", id="another-digest"),
        pytest.param(answered(signed(), x_model_version="v1.0.1"), "x-model-version", id="another-version"),
        pytest.param(answered(signed(), x_inference_input_hash="b" * 12), "input-hash", id="another-input"),
        pytest.param(answered(signed(receipt(status=500))), "status 500", id="another-status"),
        pytest.param(answered("a.b"), "cannot be read", id="no-jws"),
        pytest.param(answered("a.b.c"), "cannot be read", id="no-base64"),
        pytest.param(answered(signed() + ", " + signed()), "cannot be read", id="header-twice"),
        pytest.param(
            streamed(STREAM + f": dna-receipt {signed(receipt(COVERED))}\n".encode() * 2),
            "more than one",
            id="two-lines",
        ),
    ],
)
def test_what_is_invalid(answer: Answer, why: str) -> None:
    found = judged(answer)

    assert found.outcome is Outcome.INVALID
    assert why in found.reason


def test_headers_that_are_missing_are_no_proof() -> None:
    sent = {name: value for name, value in headers().items() if name != "x-inference-dna"}

    assert judged(Answer({**sent, "x-inference-receipt": signed()}, BODY)).outcome is Outcome.INVALID
    sent = {name: value for name, value in headers().items() if not name.startswith("x-model")}
    assert judged(Answer({**sent, "x-inference-receipt": signed()}, BODY)).outcome is Outcome.VALID


@pytest.mark.parametrize(
    ("expected", "why"),
    [
        pytest.param(Expected(request_body=b"another"), "another request", id="another-request"),
        pytest.param(Expected(nonce="n-2"), "another nonce", id="an-older-receipt"),
    ],
)
def test_what_the_reader_sent_must_be_in_it(expected: Expected, why: str) -> None:
    found = judged(answered(signed()), expected)

    assert (found.outcome, why in found.reason) == (Outcome.INVALID, True)


def remade(change: Callable[[dict[str, Any], dict[str, Any]], None], *, resign: bool = True) -> str:
    """A receipt with header or payload changed; signed again by the right key, or left with the old signature."""
    header, payload, signature = signed().split(".")
    parts = [json.loads(decode_base64url(part) or b"") for part in (header, payload)]
    change(*parts)
    text = ".".join(encode_base64url(canonical(part).encode()) for part in parts)
    if resign:
        signature = encode_base64url(load_private_key(PRIVATE).sign(text.encode()))
    return f"{text}.{signature}"


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        pytest.param(lambda h, _p: h.update(alg="none"), Outcome.INVALID, id="algorithm-none"),
        pytest.param(lambda h, _p: h.update(alg="HS256"), Outcome.INVALID, id="algorithm-of-a-shared-key"),
        pytest.param(lambda h, _p: h.update(typ="JWT"), Outcome.INVALID, id="another-type"),
        pytest.param(lambda h, _p: h.update(crit=["x"]), Outcome.INVALID, id="critical-header"),
        pytest.param(lambda _h, p: p.update(v=2), Outcome.UNVERIFIED, id="a-later-version"),
        pytest.param(lambda _h, p: p.update(finish="length"), Outcome.INVALID, id="not-finished"),
        pytest.param(lambda _h, p: p.update(further="x"), Outcome.VALID, id="a-further-member"),
    ],
)
def test_other_headers_and_payloads(change: Any, outcome: Outcome) -> None:
    assert judged(answered(remade(change))).outcome is outcome


def payload_of(receipt: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(decode_base64url(receipt.split(".")[1]) or b"")
    return document


@pytest.mark.parametrize("member", sorted(payload_of(signed()).keys() - {"v"}))
@pytest.mark.parametrize("value", ["another", 0, None])
def test_a_changed_payload_is_invalid(member: str, value: Any) -> None:
    found = judged(answered(remade(lambda _h, p: p.update({member: value}), resign=False)))

    assert found.outcome is not Outcome.VALID
    if member != "body_bytes":
        assert "did not sign" in found.reason


@pytest.mark.parametrize("member", sorted(payload_of(signed()).keys() - {"v"}))
def test_a_payload_of_which_a_member_is_gone_is_invalid(member: str) -> None:
    found = judged(answered(remade(lambda _h, p: p.pop(member), resign=False)))

    assert (found.outcome, "did not sign" in found.reason) == (Outcome.INVALID, True)


def test_a_line_like_a_receipt_in_another_body_is_text() -> None:
    assert find_receipts(Answer({"content-type": "text/plain"}, b": dna-receipt x\n")) == []
