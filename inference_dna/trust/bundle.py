"""Signatures of whole folders as the command `model_signing` of OpenSSF makes and reads them (provenance.md section 9).

A bundle is a Sigstore bundle (version 0.3) around a DSSE envelope around an in-toto statement, signed with an elliptic
curve key. The statement's subject is a hash over the files' hashes without their names: renaming two files leaves it
equal. So the list of resources is compared here, never the subject alone. A file that is not in the list is one too
many; only git's own files, which that command leaves out by itself, may lie there unsigned.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any, cast

from inference_dna.canonical import Json, Refused, parse_json
from inference_dna.files import check_name
from inference_dna.measure.hashing import Task, hash_files
from inference_dna.measure.listing import Found, list_folder
from inference_dna.measure.places import is_hidden
from inference_dna.measure.work import Work
from inference_dna.trust.dsse import PAYLOAD_TYPE, STATEMENT_TYPE, pre_authentication
from inference_dna.trust.ec_key import load_ec_private_key, load_ec_public_key
from inference_dna.trust.verify import Fault, Finding, differing, in_order

MEDIA_TYPE = "application/vnd.dev.sigstore.bundle.v0.3+json"
PREDICATE_TYPE = "https://model_signing/signature/v1.0"
GIT_PATHS = (".git", ".gitattributes", ".github", ".gitignore")
"""What `model_signing` leaves out by itself, at the top of the folder."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A folder compared with its bundle. `unsigned` are files of git's that lie there and are not covered."""

    findings: tuple[Finding, ...]
    unsigned: tuple[str, ...]


def sign_folder(root: Path, private_key: bytes, passphrase: bytes | None = None) -> dict[str, Json]:
    """Sign every file of a folder, git's own left out.

    Args:
        root: The folder.
        private_key: An elliptic curve key (P-256, P-384 or P-521) in PEM.
        passphrase: What the key is encrypted with, None where it is not.

    Raises:
        Refused: The key cannot be used, the folder cannot be read or holds nothing.
    """
    key = load_ec_private_key(private_key, passphrase)
    found = [entry for entry in list_folder(root) if not _is_gits(entry.name)]
    if not found:
        raise Refused("The folder holds no file to sign.")
    payload = json.dumps(_statement(root, found), indent=2).encode()
    signature = key.sign(pre_authentication(PAYLOAD_TYPE, payload))
    return {
        "mediaType": MEDIA_TYPE,
        "verificationMaterial": {"publicKey": {"hint": key.public.hint}, "tlogEntries": []},
        "dsseEnvelope": {
            "payload": base64.b64encode(payload).decode(),
            "payloadType": PAYLOAD_TYPE,
            "signatures": [{"sig": base64.b64encode(signature).decode(), "keyid": ""}],
        },
    }


def verify_folder_bundle(
    root: Path, bundle: bytes, public_key: bytes, *, signature_name: str | None = None, work: Work | None = None
) -> Checked:
    """Compare every file of a folder with what a bundle signs.

    Args:
        root: The folder.
        bundle: Content of the bundle, ours or that of `model_signing`.
        public_key: The pinned elliptic curve key in PEM.
        signature_name: The bundle's own name in the folder, where it lies there.
        work: How files are hashed.

    Raises:
        Refused: The bundle is none, is not signed by this key, hashes otherwise than by SHA-256 over whole files, or
            the folder cannot be read.
    """
    signed = _signed_files(_verified_payload(bundle, public_key))
    found = {entry.name: entry for entry in list_folder(root) if entry.name != signature_name}
    known = found.keys() & signed.keys()
    hashes = _hashes([found[name] for name in known], work or Work())
    findings = [
        Finding(Fault.CHANGED, name, differing(hashes[name], signed[name]))
        for name in known
        if hashes[name] != signed[name]
    ]
    missing = signed.keys() - found.keys()
    findings += [Finding(Fault.MISSING, name, "it is signed, the folder has it not") for name in missing]
    beside = found.keys() - signed.keys()
    findings += [Finding(Fault.EXTRA, name, "it is not signed") for name in beside if not _is_gits(name)]
    unsigned = tuple(sorted(name for name in beside if _is_gits(name)))
    return Checked(in_order(findings), unsigned)


def _statement(root: Path, found: Sequence[Found]) -> dict[str, Any]:
    # The order of the command: by components, not by text.
    ordered = sorted(found, key=lambda entry: PurePosixPath(entry.name))
    hashes = _hashes(ordered, Work())
    over_all = sha256(b"".join([bytes.fromhex(hashes[entry.name]) for entry in ordered])).hexdigest()
    resources = [{"name": entry.name, "digest": hashes[entry.name], "algorithm": "sha256"} for entry in ordered]
    return {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": root.resolve().name, "digest": {"sha256": over_all}}],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "resources": resources,
            "serialization": {
                "method": "files",
                "hash_type": "sha256",
                "allow_symlinks": any(path.is_symlink() for path in root.rglob("*")),
                "ignore_paths": list(GIT_PATHS),
            },
        },
    }


def _verified_payload(bundle: bytes, public_key: bytes) -> Mapping[str, Json]:
    key = load_ec_public_key(public_key)
    document = _object(parse_json(bundle), "the bundle")
    if document.get("mediaType") != MEDIA_TYPE:
        raise Refused(f"The bundle is of type {document.get('mediaType')!a}; this reader knows {MEDIA_TYPE}.")
    hint = _object(_object(document.get("verificationMaterial"), "its material").get("publicKey"), "its key").get(
        "hint"
    )
    if hint is not None and hint != key.hint:
        raise Refused("The bundle was signed with another key than the one that is pinned.")
    envelope = _object(document.get("dsseEnvelope"), "its envelope")
    payload, kind = _decoded(envelope.get("payload")), envelope.get("payloadType")
    signatures = envelope.get("signatures")
    if kind != PAYLOAD_TYPE or not isinstance(signatures, list) or len(signatures) != 1:
        raise Refused(f"The bundle must hold one {PAYLOAD_TYPE} with one signature.")
    if not key.has_signed(_decoded(_object(signatures[0], "its signature").get("sig")), kind, payload):
        raise Refused("The bundle is not signed by the pinned key.")
    return _object(parse_json(payload), "its statement")


def _signed_files(statement: Mapping[str, Json]) -> dict[str, str]:
    if (statement.get("_type"), statement.get("predicateType")) != (STATEMENT_TYPE, PREDICATE_TYPE):
        raise Refused("The bundle signs something else than a model.")
    predicate = _object(statement.get("predicate"), "its predicate")
    serialization = _object(predicate.get("serialization"), "its serialization")
    if (serialization.get("method"), serialization.get("hash_type")) != ("files", "sha256"):
        raise Refused("The bundle does not hash whole files with SHA-256; sign the folder that way.")
    resources = predicate.get("resources")
    if not isinstance(resources, list) or not resources:
        raise Refused("The bundle signs no file.")
    signed: dict[str, str] = {}
    for resource in resources:
        name, digest = _resource(_object(resource, "a resource"))
        if name in signed:
            raise Refused(f"The bundle signs {name!a} twice.")
        signed[name] = digest
    return signed


def _resource(resource: Mapping[str, Json]) -> tuple[str, str]:
    name, digest = resource.get("name"), resource.get("digest")
    check_name(name)
    if resource.get("algorithm") != "sha256" or not isinstance(digest, str):
        raise Refused(f"The bundle has no SHA-256 of {name!a}.")
    return cast("str", name), digest


def _hashes(found: Sequence[Found], work: Work) -> dict[str, str]:
    for entry in found:
        if is_hidden(entry.name) and entry.path.is_symlink():
            raise Refused(f"The hidden link {entry.name!a} is not followed; remove it or put the file in its place.")
    hashed = hash_files([Task(entry) for entry in found], work)
    return {name: one.content.entry.sha256 for name, one in hashed.items()}


def _is_gits(name: str) -> bool:
    return name.partition("/")[0] in GIT_PATHS


def _object(value: Json, what: str) -> Mapping[str, Json]:
    if not isinstance(value, Mapping):
        raise Refused(f"The bundle cannot be read: {what} is no object.")
    return value


def _decoded(value: Json) -> bytes:
    try:
        return base64.b64decode(cast("str", value), validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise Refused("The bundle cannot be read: a member is no base64.") from error
