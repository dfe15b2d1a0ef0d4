"""Ed25519 keys in PEM: loading them, making new ones. Needs the package `cryptography`, the extra `sign`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inference_dna.canonical import Refused
from inference_dna.extra import needing

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


def load_public_key(content: bytes) -> Ed25519PublicKey:
    """Load an Ed25519 public key from PEM.

    Raises:
        Refused: As `read_public_key`.
    """
    with needing("cryptography", "sign"):
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key
    try:
        key = load_pem_public_key(content)
    except ValueError as error:
        raise Refused("The public key cannot be read; it must be Ed25519 in PEM.") from error
    if not isinstance(key, Ed25519PublicKey):
        raise Refused("The public key is not Ed25519.")
    return key


def load_private_key(content: bytes, passphrase: bytes | None = None) -> Ed25519PrivateKey:
    """Load an Ed25519 private key from PEM (PKCS 8).

    Raises:
        Refused: The content is no such key, the passphrase is wrong or missing, or `cryptography` is not installed.
    """
    with needing("cryptography", "sign"):
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    try:
        key = load_pem_private_key(content, passphrase)
    except TypeError as error:
        raise Refused("The private key and its passphrase do not fit: one of the two is missing.") from error
    except ValueError as error:
        raise Refused("The private key cannot be read; it must be Ed25519 in PEM, its passphrase right.") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise Refused("The private key is not Ed25519.")
    return key


def new_key_pair(passphrase: bytes | None = None) -> tuple[bytes, bytes]:
    """Make an Ed25519 key pair: the private key (PKCS 8) and the public one, both in PEM.

    Args:
        passphrase: Encrypts the private key; None leaves it as it is.

    Raises:
        Refused: The package `cryptography` is not installed.
    """
    with needing("cryptography", "sign"):
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if passphrase:
        encryption = serialization.BestAvailableEncryption(passphrase)
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return private, public
