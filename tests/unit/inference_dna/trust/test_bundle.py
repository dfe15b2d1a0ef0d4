"""Bundles of folders; those beside the real command `model_signing` are in tests/integration."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from inference_dna.canonical import Refused
from inference_dna.trust.bundle import sign_folder, verify_folder_bundle
from inference_dna.trust.pem import new_key_pair
from inference_dna.trust.verify import Fault
from tests.support.manifests import write_folder


def pair(curve: ec.EllipticCurve) -> tuple[bytes, bytes]:
    key = ec.generate_private_key(curve)
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), public


PRIVATE, PUBLIC = pair(ec.SECP256R1())


@pytest.fixture
def model(tmp_path: Path) -> Path:
    files = {"a.bin": b"a", "a/b.bin": b"b", "a-c.bin": b"c", ".gitattributes": b"git", "README.md": b"r"}
    return write_folder(tmp_path / "model", {name: content for name, content in files.items() if name != "a.bin"})


def signed(model: Path) -> bytes:
    return json.dumps(sign_folder(model, PRIVATE)).encode()


def faults(model: Path, bundle: bytes) -> list[tuple[Fault, str]]:
    return [(each.fault, each.name) for each in verify_folder_bundle(model, bundle, PUBLIC).findings]


@pytest.mark.parametrize("curve", [ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1()])
def test_a_folder_that_was_signed_verifies(curve: ec.EllipticCurve, model: Path) -> None:
    private, public = pair(curve)
    checked = verify_folder_bundle(model, json.dumps(sign_folder(model, private)).encode(), public)

    assert checked.findings == ()
    assert checked.unsigned == (".gitattributes",)


def flip(model: Path) -> None:
    (model / "a/b.bin").write_bytes(b"B")


def add(model: Path) -> None:
    (model / "chat_template.jinja").write_bytes(b"x")


def hide(model: Path) -> None:
    write_folder(model, {".hidden/modeling.py": b"x"})


def remove(model: Path) -> None:
    (model / "README.md").unlink()


def swap(model: Path) -> None:
    (model / "a/b.bin").write_bytes(b"c")
    (model / "a-c.bin").write_bytes(b"b")


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        pytest.param(flip, [(Fault.CHANGED, "a/b.bin")], id="changed"),
        pytest.param(add, [(Fault.EXTRA, "chat_template.jinja")], id="added"),
        pytest.param(hide, [(Fault.EXTRA, ".hidden/modeling.py")], id="hidden"),
        pytest.param(remove, [(Fault.MISSING, "README.md")], id="removed"),
        pytest.param(swap, [(Fault.CHANGED, "a-c.bin"), (Fault.CHANGED, "a/b.bin")], id="swapped"),
    ],
)
def test_every_change_is_found(spoil: Callable[[Path], None], expected: list[tuple[Fault, str]], model: Path) -> None:
    bundle = signed(model)
    spoil(model)

    assert faults(model, bundle) == expected


def test_the_bundle_may_lie_in_the_folder(model: Path) -> None:
    bundle = signed(model)
    (model / "model.sig").write_bytes(bundle)

    assert verify_folder_bundle(model, bundle, PUBLIC, signature_name="model.sig").findings == ()
    assert faults(model, bundle) == [(Fault.EXTRA, "model.sig")]


def test_links_inside_the_folder_are_signed_by_content(model: Path) -> None:
    (model / "link.bin").symlink_to("a-c.bin")
    bundle = signed(model)

    assert payload_of(bundle)["predicate"]["serialization"]["allow_symlinks"] is True
    assert faults(model, bundle) == []


def test_another_key_is_refused(model: Path) -> None:
    _, other = pair(ec.SECP256R1())

    with pytest.raises(Refused, match="another key"):
        verify_folder_bundle(model, signed(model), other)
    document = json.loads(signed(model))
    del document["verificationMaterial"]["publicKey"]["hint"]
    with pytest.raises(Refused, match="not signed by the pinned key"):
        verify_folder_bundle(model, json.dumps(document).encode(), other)


def payload_of(bundle: bytes) -> Any:
    return json.loads(base64.b64decode(json.loads(bundle)["dsseEnvelope"]["payload"]))


def resigned(bundle: bytes, change: Callable[[Any], None]) -> bytes:
    """The bundle with its payload changed and signed again by the right key: what a careless signer might make."""
    from inference_dna.trust.dsse import PAYLOAD_TYPE, pre_authentication
    from inference_dna.trust.ec_key import load_ec_private_key

    payload = payload_of(bundle)
    change(payload)
    text = json.dumps(payload).encode()
    document = json.loads(bundle)
    signature = load_ec_private_key(PRIVATE).sign(pre_authentication(PAYLOAD_TYPE, text))
    document["dsseEnvelope"]["payload"] = base64.b64encode(text).decode()
    document["dsseEnvelope"]["signatures"] = [{"sig": base64.b64encode(signature).decode()}]
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        pytest.param(lambda p: p.update(predicateType="x"), "something else than a model", id="other-predicate"),
        pytest.param(lambda p: p["predicate"].update(resources=[]), "signs no file", id="no-files"),
        pytest.param(
            lambda p: p["predicate"]["serialization"].update(method="shards"), "whole files with SHA-256", id="shards"
        ),
        pytest.param(
            lambda p: p["predicate"]["serialization"].update(hash_type="blake3"),
            "whole files with SHA-256",
            id="blake3",
        ),
        pytest.param(
            lambda p: p["predicate"]["resources"].append(p["predicate"]["resources"][0]), "twice", id="file-twice"
        ),
        pytest.param(
            lambda p: p["predicate"]["resources"][0].update(name="../x"), "`..` component", id="name-that-leaves"
        ),
        pytest.param(
            lambda p: p["predicate"]["resources"][0].update(algorithm="md5"), "no SHA-256", id="other-algorithm"
        ),
        pytest.param(lambda p: p["predicate"].update(serialization=None), "is no object", id="no-serialization"),
    ],
)
def test_signed_statements_that_are_refused(change: Callable[[Any], None], why: str, model: Path) -> None:
    with pytest.raises(Refused, match=why):
        verify_folder_bundle(model, resigned(signed(model), change), PUBLIC)


def test_paths_that_the_signer_ignored_are_extra_all_the_same(model: Path) -> None:
    bundle = resigned(signed(model), lambda p: p["predicate"]["serialization"]["ignore_paths"].append("evil.py"))
    write_folder(model, {"evil.py": b"x"})

    assert faults(model, bundle) == [(Fault.EXTRA, "evil.py")]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        pytest.param(lambda d: d.update(mediaType="x"), "of type", id="media-type"),
        pytest.param(lambda d: d["dsseEnvelope"].update(payload="e30="), "not signed by", id="other-payload"),
        pytest.param(lambda d: d["dsseEnvelope"].update(payload="?"), "no base64", id="no-base64"),
        pytest.param(lambda d: d["dsseEnvelope"].update(payloadType="x"), "must hold one", id="payload-type"),
        pytest.param(lambda d: d["dsseEnvelope"].update(signatures=[]), "must hold one", id="no-signature"),
        pytest.param(lambda d: d["dsseEnvelope"]["signatures"].append({}), "must hold one", id="two-signatures"),
        pytest.param(lambda d: d.pop("dsseEnvelope"), "its envelope is no object", id="no-envelope"),
    ],
)
def test_bundles_that_are_refused(change: Callable[[Any], None], why: str, model: Path) -> None:
    document = json.loads(signed(model))
    change(document)

    with pytest.raises(Refused, match=why):
        verify_folder_bundle(model, json.dumps(document).encode(), PUBLIC)


@pytest.mark.parametrize("key", [b"no key", new_key_pair()[0], pair(ec.SECP256K1())[0]])
def test_keys_that_cannot_sign_bundles(key: bytes, model: Path) -> None:
    with pytest.raises(Refused):
        sign_folder(model, key)


@pytest.mark.parametrize("key", [b"no key", new_key_pair()[1], pair(ec.SECP256K1())[1]])
def test_keys_that_cannot_verify_bundles(key: bytes, model: Path) -> None:
    with pytest.raises(Refused):
        verify_folder_bundle(model, signed(model), key)


def test_an_encrypted_key_needs_its_passphrase(model: Path) -> None:
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption

    key = ec.generate_private_key(ec.SECP256R1())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))

    assert sign_folder(model, private, b"secret")
    with pytest.raises(Refused, match="one of the two is missing"):
        sign_folder(model, private)


def test_an_empty_folder_cannot_be_signed(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no file to sign"):
        sign_folder(tmp_path, PRIVATE)


def test_a_hidden_link_is_not_followed(model: Path) -> None:
    (model / ".link").symlink_to("/etc/hostname")

    with pytest.raises(Refused, match="hidden link"):
        sign_folder(model, PRIVATE)
