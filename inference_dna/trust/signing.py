"""Signs manifests and judges who signed one (dna.md section 8).

One good signature by a trusted key is enough. A bad one that claims to be by a trusted key refuses the manifest,
whatever else is good. Signatures by keys that nobody trusts prove nothing and harm nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from inference_dna.canonical import Json, Refused
from inference_dna.extra import needing
from inference_dna.manifest import Manifest, key_id, signed_bytes
from inference_dna.trust import gpg
from inference_dna.trust.base64url import decode_base64url, encode_base64url
from inference_dna.trust.keys import Algorithm, TrustedKey, of_algorithm
from inference_dna.trust.pem import load_private_key


@dataclass(frozen=True, slots=True)
class Signers:
    """Who signed a manifest. `good` are ids of trusted keys; `bad` and `unproven` are sentence parts.

    `bad` claim to be by a trusted key and are not; `unproven` do not count.
    """

    good: tuple[str, ...]
    bad: tuple[str, ...]
    unproven: tuple[str, ...]

    def require(self) -> tuple[str, ...]:
        """Give the ids of the trusted keys that signed.

        Raises:
            Refused: None did, or a signature is bad; the sentence says what was found instead.
        """
        if self.bad:
            raise Refused(f"The manifest carries a bad signature: {'; '.join(self.bad)}.")
        if not self.good:
            found = "; ".join(self.unproven) or "it carries no signature"
            raise Refused(f"The manifest is not signed by a trusted key: {found}.")
        return self.good


def sign_ed25519(document: Mapping[str, Json], private_key: bytes, passphrase: bytes | None = None) -> dict[str, Json]:
    """Give the document with a signature more; one by the same key is replaced.

    Args:
        document: A manifest.
        private_key: Ed25519 in PEM.
        passphrase: What the key is encrypted with, None where it is not.

    Raises:
        Refused: The key cannot be used, or the document has no canonical form.
    """
    return with_signature(document, ed25519_entry(signed_bytes(document), private_key, passphrase), "kid")


def ed25519_entry(text: bytes, private_key: bytes, passphrase: bytes | None = None) -> dict[str, str]:
    """Sign bytes; give `alg`, `kid` and `sig` as documents carry them.

    Raises:
        Refused: The key cannot be used.
    """
    key = load_private_key(private_key, passphrase)
    kid = key_id(key.public_key().public_bytes_raw())
    return {"alg": Algorithm.ED25519.value, "kid": kid, "sig": encode_base64url(key.sign(text))}


def sign_gpg(
    document: Mapping[str, Json], fingerprint: str, *, home: Path | None = None, passphrase_file: Path | None = None
) -> dict[str, Json]:
    """Give the document with a detached, armored GPG signature more; one by the same primary key is replaced.

    Args:
        document: A manifest.
        fingerprint: All 40 hex of the primary key.
        home: The GnuPG home that holds the private key; None is the user's own.
        passphrase_file: Unlocks the key without asking anybody; None leaves that to the agent.

    Raises:
        Refused: The key cannot sign, or GPG is not installed.
    """
    made = gpg.sign(signed_bytes(document), fingerprint, home=home, passphrase_file=passphrase_file)
    entry: dict[str, Json] = {"alg": Algorithm.GPG.value, "fingerprint": fingerprint.lower(), "sig": made}
    return with_signature(document, entry, "fingerprint")


def with_signature(document: Mapping[str, Json], entry: Mapping[str, Json], name: str) -> dict[str, Json]:
    """Add a signature to a document; an older one with the same `alg` and the same member `name` gives way."""
    present = document.get("signatures", [])
    kept: list[Json] = [
        old
        for old in (present if isinstance(present, Sequence) else ())
        if not (isinstance(old, Mapping) and (old.get("alg"), old.get(name)) == (entry["alg"], entry[name]))
    ]
    return {**document, "signatures": [*kept, dict(entry)]}


def signers(
    manifest: Manifest, keys: Iterable[TrustedKey], *, now: datetime, gnupg_home: Path | None = None
) -> Signers:
    """Judge every signature of a manifest.

    Args:
        manifest: It agrees with itself.
        keys: Whom the caller trusts, from configuration.
        now: With a zone; keys count only within their bounds.
        gnupg_home: Where the public keys of pinned GPG fingerprints lie that bring none; None is the user's own.

    Raises:
        Refused: A pinned GPG key is nowhere to be found, GPG or `cryptography` is missing.
    """
    trusted = tuple(keys)
    content, own = signed_bytes(manifest.document), of_algorithm(trusted, Algorithm.ED25519)
    found = [
        *(_ed25519(entry, content, own, now) for entry in _of(manifest, Algorithm.ED25519)),
        *_gpg(_of(manifest, Algorithm.GPG), content, of_algorithm(trusted, Algorithm.GPG), now, gnupg_home),
        *(Signers((), (), (f"the algorithm {entry.get('alg')!a} is not known",)) for entry in _others(manifest)),
    ]
    return Signers(
        good=tuple(key for one in found for key in one.good),
        bad=tuple(text for one in found for text in one.bad),
        unproven=tuple(text for one in found for text in one.unproven),
    )


def _ed25519(entry: Mapping[str, Json], content: bytes, keys: Mapping[str, TrustedKey], now: datetime) -> Signers:
    key = keys.get(str(entry.get("kid")))
    if key is None:
        return Signers((), (), (f"the key {entry.get('kid')!a} is not trusted",))
    refusal = key.refusal(now)
    if refusal is not None:
        return Signers((), (), (refusal,))
    if not is_signed_by(key.material, str(entry.get("sig")), content):
        return Signers((), (f"the key {key.id} did not sign this content",), ())
    return Signers((key.id,), (), ())


def is_signed_by(raw_key: bytes, signature: str, content: bytes) -> bool:
    """Say whether an Ed25519 signature in base64url is by this raw public key over this content.

    Raises:
        Refused: The package `cryptography` is not installed.
    """
    with needing("cryptography", "sign"):
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    decoded = decode_base64url(signature)
    if decoded is None:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(raw_key).verify(decoded, content)
    except (InvalidSignature, ValueError):
        return False
    return True


def _gpg(
    entries: Sequence[Mapping[str, Json]],
    content: bytes,
    keys: Mapping[str, TrustedKey],
    now: datetime,
    home: Path | None,
) -> Sequence[Signers]:
    if not entries:
        return ()
    if not keys:
        return (Signers((), (), ("no GPG key is trusted",)),)
    with gpg.ring(keys.values(), home=home) as ring:
        return [_gpg_entry(ring.judge(str(entry.get("sig")), content), keys, now) for entry in entries]


def _gpg_entry(made: Sequence[gpg.Signature], keys: Mapping[str, TrustedKey], now: datetime) -> Signers:
    good, bad, unproven = [], [], []
    for signature in made:
        key = keys.get(signature.primary)
        refusal = None if key is None else key.refusal(now)
        if signature.standing is gpg.Standing.BAD:
            bad.append(signature.reason)
        elif signature.standing is gpg.Standing.UNPROVEN or refusal is not None:
            unproven.append(refusal or signature.reason)
        elif key is None:
            unproven.append(f"the GPG key {signature.primary} is not trusted")
        else:
            good.append(key.id)
    if not made:
        unproven.append("a GPG signature cannot be read")
    return Signers(tuple(good), tuple(bad), tuple(unproven))


def _of(manifest: Manifest, algorithm: str) -> list[Mapping[str, Json]]:
    return [entry for entry in manifest.signatures if entry.get("alg") == algorithm]


def _others(manifest: Manifest) -> list[Mapping[str, Json]]:
    return [entry for entry in manifest.signatures if entry.get("alg") not in tuple(Algorithm)]
