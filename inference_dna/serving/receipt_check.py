"""Judges the receipt of one answer, offline, with public keys only (dna.md section 13)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import sha256

from inference_dna import headers as names
from inference_dna.canonical import Json, Refused, parse_json
from inference_dna.serving.receipt import ALGORITHM, COMMENT, FINISHED, HEADER, TYPE, VERSION
from inference_dna.streams import strip_comments
from inference_dna.trust.base64url import decode_base64url
from inference_dna.trust.keys import Algorithm, TrustedKey, of_algorithm
from inference_dna.trust.signing import is_signed_by

_EVENT_STREAM = "text/event-stream"
_COMMENT = COMMENT.encode()
_SHOWN_INPUT_HEX = 12


class Outcome(StrEnum):
    """What a receipt proves."""

    VALID = "valid"
    INVALID = "invalid"
    UNVERIFIED = "unverified"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as it arrived. Header names are in small letters; one sent twice has its values joined with `, `."""

    headers: Mapping[str, str]
    body: bytes
    status: int | None = None

    @property
    def is_stream(self) -> bool:
        """Say whether the body is a stream of server-sent events."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower() == _EVENT_STREAM


@dataclass(frozen=True, slots=True)
class Expected:
    """What the reader knows beside the answer; None is not compared."""

    request_body: bytes | None = None
    nonce: str | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """The outcome, why, and what the receipt states where its signature is good."""

    outcome: Outcome
    reason: str
    payload: Mapping[str, Json] | None = None


def check_receipt(
    answer: Answer, keys: Iterable[TrustedKey], *, now: datetime, expected: Expected | None = None
) -> Checked:
    """Judge the receipt of an answer.

    Args:
        answer: What arrived.
        keys: Whom the reader trusts; a key inside the receipt is only a name.
        now: With a zone; keys count only within their bounds.
        expected: What the reader sent.

    Raises:
        Refused: The package `cryptography` is missing.
    """
    found = find_receipts(answer)
    if not found:
        return Checked(Outcome.UNVERIFIED, "the answer has no receipt; a stream that broke off never has one")
    if len(found) > 1:
        return Checked(Outcome.INVALID, "the answer carries more than one receipt")
    try:
        kid, payload, signed, signature = _parsed(found[0])
    except Refused as refused:
        return Checked(Outcome.INVALID, f"the receipt cannot be read: {refused}")
    if payload.get("v") != VERSION:
        return Checked(Outcome.UNVERIFIED, f"the receipt is of version {payload.get('v')!a}, which is not known")
    key = of_algorithm(keys, Algorithm.ED25519).get(kid)
    refusal = f"the key {kid!a} is not trusted" if key is None else key.refusal(now)
    if key is None or refusal is not None:
        return Checked(Outcome.UNVERIFIED, refusal or "")
    if not is_signed_by(key.material, signature, signed):
        return Checked(Outcome.INVALID, f"the key {kid} did not sign this receipt")
    return _compared(payload, answer, expected or Expected())


def find_receipts(answer: Answer) -> list[str]:
    """Find what the header and the last line of a stream carry; a receipt that is not the last line is found too."""
    header = answer.headers.get(HEADER)
    found = [] if header is None else [header]
    if answer.is_stream:
        lines = answer.body.splitlines()
        found += [line.removeprefix(_COMMENT).decode("latin-1") for line in lines if line.startswith(_COMMENT)]
    return found


def _compared(payload: Mapping[str, Json], answer: Answer, expected: Expected) -> Checked:
    body = strip_comments(answer.body) if answer.is_stream else answer.body
    stated_bytes = payload.get("body_bytes")
    if isinstance(stated_bytes, int) and stated_bytes > len(body):
        reason = f"the receipt covers {stated_bytes} bytes and {len(body)} arrived: the copy is cut short"
        return Checked(Outcome.UNVERIFIED, reason, payload)
    wrong = next((reason for holds, reason in _claims(payload, answer, expected, body) if not holds), None)
    if wrong is not None:
        return Checked(Outcome.INVALID, wrong, payload)
    return Checked(Outcome.VALID, "signature, body and identity agree", payload)


def _claims(payload: Mapping[str, Json], answer: Answer, expected: Expected, body: bytes) -> Iterable[tuple[bool, str]]:
    """Everything that must hold, with the reason for when it does not."""
    stated, sent = payload.get, answer.headers.get
    yield stated("finish") == FINISHED, "the receipt does not state a complete answer"
    yield stated("body_bytes") == len(body), f"the receipt covers {stated('body_bytes')} bytes and {len(body)} arrived"
    yield stated("body_sha256") == sha256(body).hexdigest(), "the body is not the one that was signed"
    for member, header in (("dna", names.DNA), ("digest", names.DIGEST)):
        yield stated(member) == sent(header), f"the header {header} is not the one that was signed"
    for member, header in (("model_id", names.MODEL_ID), ("version", names.MODEL_VERSION)):
        yield sent(header) in (None, stated(member)), f"the header {header} is not the one that was signed"
    shown = sent(names.INPUT_HASH)
    # The gateway shows clients 12 of the 64 hex.
    hashed = stated("input_hash") if shown is None else str(stated("input_hash"))[: max(len(shown), _SHOWN_INPUT_HEX)]
    yield shown in (None, hashed), f"the header {names.INPUT_HASH} is not the one that was signed"
    yield answer.status in (None, stated("status")), f"the receipt is for status {stated('status')}"
    request = expected.request_body
    digest = None if request is None else sha256(request).hexdigest()
    yield digest in (None, stated("request_sha256")), "the receipt is for another request"
    yield expected.nonce in (None, stated("nonce")), "the receipt repeats another nonce"


def _parsed(text: str) -> tuple[str, Mapping[str, Json], bytes, str]:
    parts = text.split(".")
    if len(parts) != 3:
        raise Refused("It is no compact JWS.")
    header, payload = (_object(part) for part in parts[:2])
    if (header.get("alg"), header.get("typ")) != (ALGORITHM, TYPE) or "crit" in header:
        raise Refused(f"Its header must say {ALGORITHM} and {TYPE}.")
    return str(header.get("kid")), payload, f"{parts[0]}.{parts[1]}".encode(), parts[2]


def _object(part: str) -> Mapping[str, Json]:
    decoded = decode_base64url(part)
    value = None if decoded is None else parse_json(decoded)
    if not isinstance(value, Mapping):
        raise Refused("A part of it is no JSON object in base64url.")
    return value
