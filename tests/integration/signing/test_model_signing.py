"""Bundles of ours beside the real command `model_signing`, both ways."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from inference_dna.trust.bundle import sign_folder, verify_folder_bundle
from tests.support.manifests import write_folder
from tests.support.model_signing import COMMAND, NO_COMMAND, sign, verifies

pytestmark = pytest.mark.skipif(COMMAND is None, reason=NO_COMMAND)

FILES = {
    "config.json": b"{}",
    "model.safetensors": bytes(range(256)) * 40,
    "a/b.bin": b"b",
    "a-c.bin": b"c",
    ".gitattributes": b"git",
    "names with space.txt": b"x",
}


class Place:
    """A model folder, a key pair, and room for a signature."""

    def __init__(self, root: Path, curve: ec.EllipticCurve) -> None:
        key = ec.generate_private_key(curve)
        self.model = write_folder(root / "model", FILES)
        self.private, self.public, self.signature = root / "key.pem", root / "key.pub", root / "model.sig"
        self.private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        self.public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))

    def sign_here(self) -> None:
        self.signature.write_text(json.dumps(sign_folder(self.model, self.private.read_bytes())))

    def verifies_here(self) -> bool:
        checked = verify_folder_bundle(self.model, self.signature.read_bytes(), self.public.read_bytes())
        return not checked.findings

    def verifies_there(self) -> bool:
        return verifies(self.model, self.public, self.signature)


@pytest.fixture(params=[ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1()], ids=lambda curve: curve.name)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Place(tmp_path, request.param)


def change(place: Place) -> None:
    (place.model / "config.json").write_bytes(b"[]")


def add(place: Place) -> None:
    (place.model / "chat_template.jinja").write_bytes(b"x")


def remove(place: Place) -> None:
    (place.model / "a-c.bin").unlink()


def test_what_we_sign_the_command_verifies(place: Place) -> None:
    place.sign_here()

    assert place.verifies_there()
    change(place)
    assert not place.verifies_there()


def test_what_the_command_signs_we_verify(place: Place) -> None:
    sign(place.model, place.private, place.signature)

    assert place.verifies_here()
    change(place)
    assert not place.verifies_here()


@pytest.mark.parametrize("spoil", [change, add, remove])
def test_both_find_the_same(spoil: Callable[[Place], None], tmp_path: Path) -> None:
    place = Place(tmp_path, ec.SECP256R1())
    place.sign_here()
    spoil(place)

    assert not place.verifies_there()
    assert not place.verifies_here()


def test_a_link_in_the_folder_is_signed_for_both(tmp_path: Path) -> None:
    place = Place(tmp_path, ec.SECP256R1())
    (place.model / "link.bin").symlink_to("a-c.bin")
    place.sign_here()

    assert verifies(place.model, place.public, place.signature, "--allow_symlinks")
    assert place.verifies_here()
