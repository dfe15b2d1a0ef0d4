"""Keys that are trusted to sign: read from configuration, never from the document they verify (dna.md section 8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import cast

from inference_dna.canonical import Json, Refused, parse_json
from inference_dna.digest import is_hex
from inference_dna.manifest import key_id
from inference_dna.trust.base64url import decode_base64url
from inference_dna.trust.pem import load_public_key

RAW_KEY_BYTES = 32
FINGERPRINT_HEX = 40
_TIMES = ("not_before", "not_after")


class Algorithm(StrEnum):
    """How a manifest is signed."""

    ED25519 = "ed25519"
    GPG = "gpg"


@dataclass(frozen=True, slots=True)
class TrustedKey:
    """A key whose signatures count.

    `id` is the `kid` of an Ed25519 key, the full fingerprint of the primary key for GPG. `material` is the raw public
    key, or the exported public key of GPG, empty where it lies in a key ring. The times bound when it counts; None is
    no bound.
    """

    algorithm: Algorithm
    id: str
    material: bytes = b""
    not_before: datetime | None = None
    not_after: datetime | None = None

    def refusal(self, now: datetime) -> str | None:
        """Say why the key does not count at this moment; None where it does."""
        if self.not_before is not None and now < self.not_before:
            return f"the key {self.id} counts only from {self.not_before.isoformat()}"
        if self.not_after is not None and now >= self.not_after:
            return f"the key {self.id} expired at {self.not_after.isoformat()}"
        return None


def parse_keys(text: str | bytes) -> tuple[TrustedKey, ...]:
    """Read a document of trusted keys.

    The document is `{"keys": [...]}`. An entry has `alg` (`ed25519` with `public_key`, the raw key in base64url; `gpg`
    with `fingerprint`, 40 hex of the primary key, and where wanted `public_key`, armored) and where wanted `not_before`
    and `not_after`, RFC 3339 with a zone.

    Raises:
        Refused: The text is anything else, or names no key.
    """
    document = parse_json(text)
    entries = document.get("keys") if isinstance(document, Mapping) else None
    if not isinstance(entries, list) or not entries:
        raise Refused('A document of keys is {"keys": [...]} with at least one key.')
    return tuple(_parse_entry(entry) for entry in entries)


def read_public_key(content: bytes) -> TrustedKey:
    """Read one public key: Ed25519 in PEM, without bounds of time.

    Raises:
        Refused: The content is no such key, or the package `cryptography` is missing.
    """
    return trusted(load_public_key(content).public_bytes_raw())


def trusted(raw: bytes) -> TrustedKey:
    """Trust a raw Ed25519 public key without bounds of time."""
    return TrustedKey(Algorithm.ED25519, key_id(raw), raw)


def gpg_key(fingerprint: str, material: bytes = b"") -> TrustedKey:
    """Pin a GPG key by the fingerprint of its primary key.

    Raises:
        Refused: The fingerprint is not 40 hex; a short key id names many keys.
    """
    plain = fingerprint.replace(" ", "").upper()
    if not is_hex(plain.lower(), FINGERPRINT_HEX):
        raise Refused(f"{fingerprint!a} is no fingerprint; write all 40 hex of the primary key.")
    return TrustedKey(Algorithm.GPG, plain, material)


def of_algorithm(keys: Iterable[TrustedKey], algorithm: Algorithm) -> dict[str, TrustedKey]:
    """Keep the keys of one algorithm, by their id."""
    return {key.id: key for key in keys if key.algorithm is algorithm}


def _parse_entry(entry: Json) -> TrustedKey:
    if not isinstance(entry, Mapping):
        raise Refused("A key is an object with `alg`.")
    times = {name: _time(name, entry.get(name)) for name in _TIMES}
    key = _parse_gpg(entry) if entry.get("alg") == Algorithm.GPG else _parse_ed25519(entry)
    return TrustedKey(key.algorithm, key.id, key.material, **times)


def _parse_ed25519(entry: Mapping[str, Json]) -> TrustedKey:
    if entry.get("alg") != Algorithm.ED25519:
        raise Refused(f"The `alg` of a key must be one of {', '.join(Algorithm)}, not {entry.get('alg')!a}.")
    _check_members(entry, {"alg", "public_key", *_TIMES})
    raw = decode_base64url(_text(entry, "public_key"))
    if raw is None or len(raw) != RAW_KEY_BYTES:
        raise Refused("The `public_key` of an Ed25519 key must be its 32 raw bytes in base64url without padding.")
    return trusted(raw)


def _parse_gpg(entry: Mapping[str, Json]) -> TrustedKey:
    _check_members(entry, {"alg", "fingerprint", "public_key", *_TIMES})
    material = _text(entry, "public_key").encode() if "public_key" in entry else b""
    return gpg_key(_text(entry, "fingerprint"), material)


def _check_members(entry: Mapping[str, Json], known: set[str]) -> None:
    unknown = entry.keys() - known
    if unknown:
        raise Refused(f"A key has unknown members: {', '.join(sorted(unknown))}.")


def _text(entry: Mapping[str, Json], name: str) -> str:
    value = entry.get(name)
    if not isinstance(value, str) or not value:
        raise Refused(f"A key needs `{name}`, a text that is not empty.")
    return value


def _time(name: str, value: Json) -> datetime | None:
    if value is None:
        return None
    try:
        time = datetime.fromisoformat(cast("str", value))
    except (TypeError, ValueError) as error:
        raise Refused(f"`{name}` of a key must be a time like 2025-01-31T12:00:00Z.") from error
    if time.tzinfo is None:
        raise Refused(f"`{name}` of a key must name its zone, like 2025-01-31T12:00:00Z.")
    return time
