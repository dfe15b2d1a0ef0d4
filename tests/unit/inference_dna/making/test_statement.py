from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from inference_dna.canonical import Refused
from inference_dna.making.statement import envelope, statement
from inference_dna.trust.dsse import PAYLOAD_TYPE, pre_authentication
from inference_dna.trust.pem import load_public_key, new_key_pair
from tests.support.manifests import FILES, entry, manifest_document, manifest_of


def test_every_file_is_a_subject() -> None:
    document: Any = statement(manifest_of())

    assert document["_type"] == "https://in-toto.io/Statement/v1"
    assert document["subject"] == [
        {"name": name, "digest": {"sha256": entry(name, FILES[name])["sha256"]}}
        for name in sorted(set(FILES) - {"README.md"})
    ]


def test_the_predicate_is_the_manifest_without_signatures() -> None:
    document: Any = statement(manifest_of())
    expected = manifest_document()
    del expected["signatures"]

    assert document["predicateType"] == "urn:inference-dna:1:manifest"
    assert json.loads(json.dumps(document["predicate"])) == expected


def test_the_envelope_is_signed_as_dsse_says() -> None:
    private, public = new_key_pair()
    signed: Any = envelope(statement(manifest_of()), private)
    payload = base64.b64decode(signed["payload"])

    assert signed["payloadType"] == PAYLOAD_TYPE
    assert json.loads(payload)["subject"]
    content = b"DSSEv1 28 application/vnd.in-toto+json " + str(len(payload)).encode() + b" " + payload
    load_public_key(public).verify(base64.b64decode(signed["signatures"][0]["sig"]), content)


def test_what_is_signed_has_the_form_of_the_specification() -> None:
    # The example of the DSSE specification.
    assert pre_authentication("http://example.com/HelloWorld", b"hello world") == (
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


def test_without_a_usable_key_nothing_is_signed() -> None:
    with pytest.raises(Refused):
        envelope(statement(manifest_of()), b"no key")
