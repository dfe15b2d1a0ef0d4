"""Receipts: what a worker signs about one answer (dna.md section 13).

A receipt is a compact JWS (RFC 7515) signed with Ed25519 (RFC 8037) over the canonical form of its payload. It binds
the worker's identity to the bytes of one request and one answer. A stream that broke off has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from inference_dna.canonical import Json, canonical
from inference_dna.manifest import key_id
from inference_dna.trust.base64url import encode_base64url
from inference_dna.trust.pem import load_private_key

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

TYPE = "inference-receipt+jws"
ALGORITHM = "EdDSA"
VERSION = 1
FINISHED = "complete"
HEADER = "x-inference-receipt"
NONCE = "x-inference-nonce"
"""A client may send one (1 to 128 printable ASCII characters): the receipt repeats it, so it cannot be an older one."""
COMMENT = ": dna-receipt "
"""How the last line of a stream begins that carries its receipt."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What is stated about one answer.

    `digest` is the runtime digest with its `sha256:`; `input_hash`, `request_sha256` and `body_sha256` are bare hex,
    the first empty where no input was hashed. The body is the one before any content coding, without comment lines of
    a stream. `iat` is seconds since 1970.
    """

    dna: str
    digest: str
    model_id: str
    version: str
    input_hash: str
    method: str
    path: str
    request_sha256: str
    status: int
    body_sha256: str
    body_bytes: int
    boot_id: str
    request_id: str
    nonce: str
    iat: int

    def payload(self) -> dict[str, Json]:
        """The statement that is signed."""
        stated = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"v": VERSION, "finish": FINISHED, **stated}


class ReceiptKey:
    """The private key of one worker; it signs and tells its name, nothing else.

    Args:
        private_key: Ed25519 in PEM.
        passphrase: What it is encrypted with, None where it is not.

    Raises:
        Refused: The key cannot be used, or the package `cryptography` is missing.
    """

    def __init__(self, private_key: bytes, passphrase: bytes | None = None) -> None:
        self._key: Ed25519PrivateKey = load_private_key(private_key, passphrase)
        self.kid = key_id(self._key.public_key().public_bytes_raw())

    def sign(self, receipt: Receipt) -> str:
        """Write the compact JWS of a receipt: ASCII, two dots, no white space."""
        header: Mapping[str, Json] = {"alg": ALGORITHM, "kid": self.kid, "typ": TYPE}
        signed = f"{_part(header)}.{_part(receipt.payload())}"
        return f"{signed}.{encode_base64url(self._key.sign(signed.encode()))}"


def _part(value: Mapping[str, Json]) -> str:
    return encode_base64url(canonical(value).encode())
