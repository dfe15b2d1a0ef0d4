"""Who wrote a document: its member `signature`, made and checked over everything else in it.

Signed is a line that names the kind, and the canonical form of the document without its signature (dna.md section 2):
comments, the order of members and YAML against JSON change nothing, and a contract can never pass for a route.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from contracts.faults import Fault, quoted
from contracts.harvest import Plain
from contracts.key import DocumentKind
from inference_dna.canonical import Refused, canonical
from inference_dna.headers import FORMAT_NAME
from inference_dna.trust.keys import Algorithm, TrustedKey
from inference_dna.trust.signing import ed25519_entry, is_signed_by

Document: TypeAlias = Mapping[str, Plain]

MEMBER = "signature"
_PATH = f"/{MEMBER}"
_COMMAND = "dna contract sign FILE --key KEY"


def signed_bytes(kind: DocumentKind, value: Document) -> bytes:
    """What is signed.

    Raises:
        Refused: The document has no canonical form, such as a number beyond 64 bits.
    """
    unsigned = {name: member for name, member in value.items() if name != MEMBER}
    return f"{FORMAT_NAME}/{kind}\n{canonical(unsigned)}".encode()


def sign(kind: DocumentKind, value: Document, private_key: bytes, passphrase: bytes | None = None) -> dict[str, str]:
    """Make the member `signature` of a document.

    Args:
        kind: Which document it is.
        value: The document; a signature it carries already is left out of what is signed.
        private_key: Ed25519 in PEM.
        passphrase: What the key is encrypted with, None where it is not.

    Raises:
        Refused: The key cannot be used, or the document has no canonical form.
    """
    return ed25519_entry(signed_bytes(kind, value), private_key, passphrase)


def is_stale(kind: DocumentKind, before: Document, after: Document) -> bool:
    """Say whether a document took over the signature of the one before, though something in it changed."""
    if before.get(MEMBER) is None or before[MEMBER] != after.get(MEMBER):
        return False
    try:
        return signed_bytes(kind, before) != signed_bytes(kind, after)
    except Refused:  # what has no canonical form was never signed
        return True


def signature_faults(kind: DocumentKind, value: Document, keys: Sequence[TrustedKey]) -> Iterator[Fault]:
    """Find why a document is not signed by one of these Ed25519 keys; without keys nothing has to be signed."""
    if not keys:
        return
    try:
        reason = _why_not(kind, value, {key.id: key.material for key in keys})
    except Refused as refused:
        reason = f"cannot be checked: {refused}"
    if reason:
        yield Fault(_PATH, reason)


def _why_not(kind: DocumentKind, value: Document, keys: Mapping[str, bytes]) -> str | None:
    signature = value.get(MEMBER)
    if signature is None:
        return f"is missing, and this gateway accepts only signed documents; sign it: {_COMMAND}."
    if not isinstance(signature, Mapping) or signature.keys() != {"alg", "kid", "sig"}:
        return f"must have exactly alg, kid and sig, as this writes them: {_COMMAND}."
    if signature["alg"] != Algorithm.ED25519:
        return f"{quoted(signature['alg'])} is no way of signing that is known here; known is ed25519."
    material = keys.get(str(signature["kid"]))
    if material is None:
        return f"the key {quoted(signature['kid'])} is none that this gateway trusts (GATEWAY_CONTRACT_KEYS)."
    if not is_signed_by(material, str(signature["sig"]), signed_bytes(kind, value)):
        return f"the key {signature['kid']} did not sign this content: it was changed after signing; sign it again."
    return None
