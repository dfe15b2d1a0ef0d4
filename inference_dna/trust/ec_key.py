"""Elliptic curve keys in PEM, the only kind that bundles are signed with. Needs `cryptography`, the extra `sign`."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from inference_dna.canonical import Refused
from inference_dna.extra import needing
from inference_dna.trust.dsse import pre_authentication

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import (
        ECDSA,
        EllipticCurvePrivateKey,
        EllipticCurvePublicKey,
    )

_CURVES = "P-256, P-384 or P-521"
_HASHES = {"secp256r1": "SHA256", "secp384r1": "SHA384", "secp521r1": "SHA512"}


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key. `hint` is how bundles name it: the SHA-256 of its PEM text."""

    key: EllipticCurvePublicKey
    hint: str

    def has_signed(self, signature: bytes, payload_type: str, payload: bytes) -> bool:
        """Say whether a signature in a DSSE envelope is by this key."""
        from cryptography.exceptions import InvalidSignature

        try:
            self.key.verify(signature, pre_authentication(payload_type, payload), _algorithm(self.key.curve.name))
        except InvalidSignature:
            return False
        return True


@dataclass(frozen=True, slots=True)
class PrivateKey:
    """A private key and its public half."""

    key: EllipticCurvePrivateKey
    public: PublicKey

    def sign(self, content: bytes) -> bytes:
        """Sign bytes."""
        return self.key.sign(content, _algorithm(self.key.curve.name))


def load_ec_private_key(content: bytes, passphrase: bytes | None = None) -> PrivateKey:
    """Load a private key from PEM.

    Raises:
        Refused: It is no such key, its passphrase is wrong or missing, or `cryptography` is not installed.
    """
    with needing("cryptography", "sign"):
        from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    try:
        key = load_pem_private_key(content, passphrase)
    except TypeError as error:
        raise Refused("The private key and its passphrase do not fit: one of the two is missing.") from error
    except ValueError as error:
        raise Refused(f"The private key cannot be read; bundles need {_CURVES} in PEM.") from error
    if not isinstance(key, EllipticCurvePrivateKey):
        raise Refused(f"The private key is not of an elliptic curve; bundles need {_CURVES}.")
    return PrivateKey(key, _public(key.public_key()))


def load_ec_public_key(content: bytes) -> PublicKey:
    """Load a public key from PEM.

    Raises:
        Refused: It is no such key, or `cryptography` is not installed.
    """
    with needing("cryptography", "sign"):
        from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key
    try:
        key = load_pem_public_key(content)
    except ValueError as error:
        raise Refused(f"The public key cannot be read; bundles need {_CURVES} in PEM.") from error
    if not isinstance(key, EllipticCurvePublicKey):
        raise Refused(f"The public key is not of an elliptic curve; bundles need {_CURVES}.")
    return _public(key)


def _public(key: EllipticCurvePublicKey) -> PublicKey:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    if key.curve.name not in _HASHES:
        raise Refused(f"The key is of the curve {key.curve.name}; bundles need {_CURVES}.")
    return PublicKey(key, sha256(key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)).hexdigest())


def _algorithm(curve: str) -> ECDSA:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric.ec import ECDSA

    return ECDSA(getattr(hashes, _HASHES[curve])())
