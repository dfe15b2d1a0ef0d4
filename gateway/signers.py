"""Whose signatures count on documents: public keys that an operator named (`GATEWAY_CONTRACT_KEYS`)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

from inference_dna.canonical import Refused
from inference_dna.trust.keys import TrustedKey, read_public_key

Signers: TypeAlias = tuple[TrustedKey, ...]
"""Keys of which one must have signed a document; empty: none need be signed."""


class SignersUnreadable(ValueError):
    """A key cannot be used; the message names its file."""


def read_signers(paths: Iterable[Path]) -> Signers:
    """Read Ed25519 public keys in PEM.

    Raises:
        SignersUnreadable: One cannot be read: without it, documents it signed would be refused, so nothing starts.
    """
    return tuple(_read(path) for path in paths)


def _read(path: Path) -> TrustedKey:
    try:
        return read_public_key(path.read_bytes())
    except OSError as error:
        raise SignersUnreadable(f"GATEWAY_CONTRACT_KEYS: {path} cannot be read: {error.strerror}") from error
    except Refused as refused:
        raise SignersUnreadable(f"GATEWAY_CONTRACT_KEYS: {path}: {refused}") from refused
