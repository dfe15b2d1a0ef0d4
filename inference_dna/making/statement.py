"""The manifest as an in-toto statement: one subject per file, the genome as predicate (provenance.md section 9).

Policy engines look artifacts up by the digest of a subject, so every shard must be one. The form is
https://in-toto.io/Statement/v1; the envelope that carries a signature is DSSE version 1.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping

from inference_dna.canonical import Json, canonical
from inference_dna.manifest import Manifest, key_id
from inference_dna.trust.dsse import PAYLOAD_TYPE, STATEMENT_TYPE, pre_authentication
from inference_dna.trust.pem import load_private_key
from inference_dna.trust.verify import expected_files

PREDICATE_TYPE = "urn:inference-dna:1:manifest"


def statement(manifest: Manifest) -> dict[str, Json]:
    """Write the statement. The predicate is the manifest without its signatures, which do not cover the statement.

    Raises:
        Refused: The manifest names one file twice with different contents.
    """
    files = expected_files(manifest)
    return {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": name, "digest": {"sha256": files[name].sha256}} for name in sorted(files)],
        "predicateType": PREDICATE_TYPE,
        "predicate": {name: value for name, value in manifest.document.items() if name != "signatures"},
    }


def envelope(content: Mapping[str, Json], private_key: bytes, passphrase: bytes | None = None) -> dict[str, Json]:
    """Sign a statement: a DSSE envelope with one Ed25519 signature.

    Args:
        content: The statement.
        private_key: Ed25519 in PEM.
        passphrase: What the key is encrypted with, None where it is not.

    Raises:
        Refused: The key cannot be used, or the statement has no canonical form.
    """
    key = load_private_key(private_key, passphrase)
    # Floats of the canonical form, such as 7e-1, are JSON like any other: every reader sees the same values.
    payload = canonical(content).encode()
    return {
        "payloadType": PAYLOAD_TYPE,
        "payload": base64.b64encode(payload).decode(),
        "signatures": [
            {
                "keyid": key_id(key.public_key().public_bytes_raw()),
                "sig": base64.b64encode(key.sign(pre_authentication(PAYLOAD_TYPE, payload))).decode(),
            }
        ],
    }
