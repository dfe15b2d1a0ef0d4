"""`dna manifest`, `dna key`, `dna sign`, `dna verify`, `dna receipt`: what goes where, and with which exit code."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from inference_dna.manifest import parse_manifest
from inference_dna.serving.receipt import ReceiptKey
from inference_dna.serving.stamp import Exchanged, stamp
from inference_dna.trust.base64url import encode_base64url
from inference_dna.trust.pem import load_public_key
from tests.support.command import Run
from tests.support.gnupg import HAS_GPG, NO_GPG, Home, gnupg_home
from tests.support.manifests import write_folder
from tests.support.standing import ready_standing

FILES = {"model.weights": b"weights", "config.json": b"{}", "README.md": b"r"}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "v2.4.0", FILES)


@pytest.fixture
def signed(dna: Run, model: Path) -> Path:
    """A manifest of `model`, signed with `key.pem`."""
    assert dna("key", "new", "key.pem")[0] == 0
    assert dna("manifest", "--model", model, "--output", "manifest.json", "--model-id", "m")[0] == 0
    assert dna("sign", "manifest.json", "--key", "key.pem")[0] == 0
    return model.parent / "manifest.json"


# manifest -------------------------------------------------------------------------------------------------------------


def test_the_command_writes_what_the_tool_writes(dna: Run, model: Path) -> None:
    from inference_dna.making.generate import main as tool

    code, out, err = dna("manifest", "--model", model, "--output", "a.json", "--model-id", "m")
    tool(["--model", str(model), "--output", "b.json", "--model-id", "m"])
    a, b = (json.loads(Path(name).read_text()) for name in ("a.json", "b.json"))

    assert code == 0
    assert "written      a.json" in out
    assert {line.partition(":")[0] for line in err.splitlines()} == {"not measured"}
    assert {**a, "created_at": ""} == {**b, "created_at": ""}


def test_a_manifest_on_standard_output_is_alone_there(dna: Run, model: Path) -> None:
    code, out, err = dna("manifest", "--model", model, "--output", "-")

    assert code == 0
    assert parse_manifest(out).subject is None
    assert "it names no model" in err


def test_a_pickle_is_named_when_a_model_is_measured_and_when_it_is_verified(dna: Run, model: Path) -> None:
    write_folder(model, {"model.joblib": pickle.dumps([1, 2, 3])})
    assert dna("key", "new", "key.pem")[0] == 0
    code, out, _ = dna("manifest", "--model", model, "--output", "m.json", "--model-id", "m", "--sign", "key.pem")
    verified = dna("verify", "m.json", "--model", model, "--key", "key.pem.pub")

    assert code == verified[0] == 0
    assert "note         'model.joblib' holds a pickle" in out
    assert "dna: 'model.joblib' holds a pickle" in verified[2]


@pytest.mark.parametrize("arguments", [("--model", "v2.4.0"), ("--output", "m.json"), ("--artifact-only",)])
def test_a_manifest_needs_a_model_and_a_place(arguments: tuple[str, ...], dna: Run, model: Path) -> None:
    code, out, err = dna("manifest", *arguments)

    assert (code, out) == (2, "")
    assert "--model DIR --output FILE" in err


def test_a_model_that_is_refused_is_1(dna: Run, tmp_path: Path) -> None:
    code, out, err = dna("manifest", "--model", tmp_path / "none", "--output", "m.json")

    assert (code, out) == (1, "")
    assert "none" in err


def test_a_difference_is_3_and_names_section_and_file(dna: Run, signed: Path, model: Path) -> None:
    (model / "config.json").write_bytes(b'{"changed": true}')
    dna("manifest", "--model", model, "--output", "after.json", "--model-id", "m")
    code, out, err = dna("manifest", "diff", signed, "after.json")

    assert (code, err) == (3, "")
    assert "weights      differs" in out
    assert "file     config.json changed" in out
    code, out, _ = dna("manifest", "diff", signed, "after.json", "-o", "json")
    assert code == 3
    assert [each["section"] for each in json.loads(out)["sections"] if not each["equal"]] == ["weights"]
    assert dna("manifest", "diff", signed, signed)[0] == 0


def test_what_is_no_manifest_is_1(dna: Run, signed: Path) -> None:
    Path("broken.json").write_text("{}")

    assert dna("manifest", "diff", signed, "broken.json")[0] == 1
    assert dna("manifest", "statement", "broken.json")[0] == 1
    assert dna("manifest", "cyclonedx", "none.json")[0] == 1


def test_other_forms_of_a_manifest(dna: Run, signed: Path) -> None:
    _, statement, _ = dna("manifest", "statement", signed)
    _, envelope, _ = dna("manifest", "statement", signed, "--sign", "key.pem")
    _, materials, _ = dna("manifest", "cyclonedx", signed)

    assert [each["name"] for each in json.loads(statement)["subject"]] == ["config.json", "model.weights"]
    assert json.loads(envelope)["payloadType"] == "application/vnd.in-toto+json"
    assert json.loads(materials)["bomFormat"] == "CycloneDX"
    assert dna("manifest", "statement", signed, "--sign", signed)[0] == 1


# keys and signatures --------------------------------------------------------------------------------------------------


def test_a_new_private_key_is_for_its_owner_alone_and_replaces_none(dna: Run) -> None:
    code, _, _ = dna("key", "new", "key.pem")

    assert code == 0
    assert Path("key.pem").stat().st_mode & 0o777 == 0o600
    assert load_public_key(Path("key.pem.pub").read_bytes()).public_bytes_raw()
    before = Path("key.pem").read_bytes()
    code, _, err = dna("key", "new", "key.pem")
    assert (code, "key.pem is there already" in err) == (1, True)
    assert Path("key.pem").read_bytes() == before


def test_a_key_with_a_passphrase(dna: Run, signed: Path) -> None:
    Path("passphrase").write_text("secret\n")

    assert dna("key", "new", "locked.pem", "--passphrase-file", "passphrase")[0] == 0
    assert dna("sign", signed, "--key", "locked.pem")[0] == 1
    assert dna("sign", signed, "--key", "locked.pem", "--passphrase-file", "passphrase")[0] == 0
    assert len(parse_manifest(signed.read_bytes()).signatures) == 2


def test_a_signed_model_verifies(dna: Run, signed: Path, model: Path) -> None:
    code, out, err = dna("verify", signed, "--model", model, "--key", "key.pem.pub")

    assert (code, err) == (0, "")
    assert out.startswith("verified: m v2.4.0, 2 files, signed by ")


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        pytest.param("config.json", b"[]", "changed", id="changed"),
        pytest.param("model.weights", None, "missing", id="missing"),
        pytest.param("chat_template.jinja", b"x", "extra", id="extra"),
    ],
)
def test_a_model_that_is_not_as_signed_is_1(
    name: str, content: bytes | None, fault: str, dna: Run, signed: Path, model: Path
) -> None:
    if content is None:
        (model / name).unlink()
    else:
        (model / name).write_bytes(content)
    code, out, err = dna("verify", signed, "--model", model, "--key", "key.pem.pub")

    assert code == 1
    assert out.splitlines()[1].split()[:2] == [fault, name]
    assert "not as signed" in err
    code, out, _ = dna("verify", signed, "--model", model, "--key", "key.pem.pub", "-o", "json")
    assert code == 1
    assert [(each["fault"], each["file"]) for each in json.loads(out)] == [(fault, name)]


def test_another_key_and_no_signature_are_1(dna: Run, signed: Path, model: Path) -> None:
    dna("key", "new", "other.pem")
    code, _, err = dna("verify", signed, "--model", model, "--key", "other.pem.pub")
    assert (code, "is not trusted" in err) == (1, True)

    document = {**json.loads(signed.read_text()), "signatures": []}
    signed.write_text(json.dumps(document))
    code, _, err = dna("verify", signed, "--model", model, "--key", "key.pem.pub")
    assert (code, "carries no signature" in err) == (1, True)


def test_a_document_of_trusted_keys_bounds_them(dna: Run, signed: Path, model: Path) -> None:
    raw = encode_base64url(load_public_key(Path("key.pem.pub").read_bytes()).public_bytes_raw())
    for name, days, expected in (("good", 1, 0), ("expired", -1, 1)):
        until = (datetime.now(UTC) + timedelta(days=days)).isoformat()
        keys = {"keys": [{"alg": "ed25519", "public_key": raw, "not_after": until}]}
        Path(name).write_text(json.dumps(keys))
        assert dna("verify", signed, "--model", model, "--trust", name)[0] == expected
    Path("broken").write_text("{}")
    assert dna("verify", signed, "--model", model, "--trust", "broken")[0] == 1


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("verify", "manifest.json", "--model", "v2.4.0"), id="nobody-is-trusted"),
        pytest.param(("verify", "manifest.json", "--key", "key.pem.pub"), id="no-folder"),
        pytest.param(("verify", "v2.4.0", "--bundle", "model.sig"), id="bundle-without-a-key"),
        pytest.param(("sign", "manifest.json"), id="nobody-signs"),
        pytest.param(("sign", "manifest.json", "--key", "key.pem", "--gpg", "F" * 40), id="two-sign"),
        pytest.param(("sign", "v2.4.0", "--gpg", "F" * 40), id="a-folder-with-gpg"),
    ],
)
def test_wrong_usage_is_2(arguments: tuple[str, ...], dna: Run, signed: Path) -> None:
    code, out, err = dna(*arguments)

    assert (code, out) == (2, "")
    assert err.startswith("dna: ")


@pytest.fixture
def home() -> Iterator[Home]:
    with gnupg_home() as made:
        yield made


@pytest.mark.skipif(not HAS_GPG, reason=NO_GPG)
def test_gpg_signs_and_verifies_with_a_pinned_fingerprint(dna: Run, signed: Path, model: Path, home: Home) -> None:
    release, foreign = home.new_key("release@example.org"), home.new_key("foreign@example.org")
    verify = ("verify", signed, "--model", model, "--gnupg-home", home.path)

    assert dna("sign", signed, "--gpg", release, "--gnupg-home", home.path)[0] == 0
    assert dna(*verify, "--gpg", release)[0] == 0
    assert dna(*verify, "--gpg", foreign)[0] == 1
    assert dna(*verify, "--gpg", "DEADBEEF")[0] == 1


def test_a_folder_is_signed_as_model_signing_does(dna: Run, model: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    Path("ec.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    Path("ec.pub").write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    write_folder(model, {".gitattributes": b"x"})

    assert dna("sign", model, "--key", "ec.pem")[0] == 0
    code, out, err = dna("verify", model, "--bundle", "model.sig", "--key", "ec.pub")
    assert (code, "verified" in out) == (0, True)
    assert ".gitattributes" in err
    (model / "config.json").write_bytes(b'{"changed": true}')
    assert dna("verify", model, "--bundle", "model.sig", "--key", "ec.pub")[0] == 1
    assert dna("verify", model, "--bundle", "ec.pub", "--key", "ec.pub")[0] == 1
    assert dna("sign", model, "--key", "ec.pub")[0] == 1


# receipts -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def answer(dna: Run) -> dict[str, str]:
    """An answer as curl saved it, with its receipt, signed by `key.pem`."""
    dna("key", "new", "key.pem")
    body = b'{"answer": 42}'
    stamped = stamp(ready_standing(), input_hash="a" * 64, write=lambda _line: None)
    exchanged = Exchanged.of("POST", "/generate", b"question", body, nonce="n-1")
    receipt = stamped.receipt(ReceiptKey(Path("key.pem").read_bytes()), exchanged)
    head = {**dict(stamped.headers), "X-Inference-Receipt": receipt}
    Path("head").write_text("HTTP/1.1 200 OK\r\n" + "".join(f"{name}: {value}\r\n" for name, value in head.items()))
    Path("body").write_bytes(body)
    Path("request").write_bytes(b"question")
    return {"sha256": sha256(body).hexdigest(), "receipt": receipt}


def test_a_good_receipt_is_0(dna: Run, answer: dict[str, str]) -> None:
    code, out, err = dna("receipt", "verify", "body", "--head", "head", "--key", "key.pem.pub")
    assert (code, out, err) == (0, "valid: signature, body and identity agree\n", "")

    full = ("--request", "request", "--nonce", "n-1", "-o", "json")
    code, out, _ = dna("receipt", "verify", "body", "--head", "head", "--key", "key.pem.pub", *full)
    told: Any = json.loads(out)
    assert (code, told["outcome"], told["receipt"]["body_sha256"]) == (0, "valid", answer["sha256"])


def test_a_receipt_may_be_given_by_itself(dna: Run, answer: dict[str, str]) -> None:
    lines = [line for line in Path("head").read_text().splitlines() if not line.startswith("X-Inference-Receipt")]
    Path("head").write_text("\r\n".join(lines))
    verify = ("receipt", "verify", "body", "--head", "head", "--key", "key.pem.pub")

    assert dna(*verify)[0] == 3
    assert dna(*verify, "--receipt", answer["receipt"])[0] == 0


@pytest.mark.parametrize(
    ("body", "further", "code", "word"),
    [
        pytest.param(b'{"answer": 43}', (), 1, "invalid", id="another-body"),
        pytest.param(b'{"answer": ', (), 3, "unverified", id="cut-short"),
        pytest.param(None, ("--nonce", "n-2"), 1, "invalid", id="another-nonce"),
        pytest.param(None, ("--request", "body"), 1, "invalid", id="another-request"),
    ],
)
def test_other_outcomes(
    body: bytes | None, further: tuple[str, ...], code: int, word: str, dna: Run, answer: dict[str, str]
) -> None:
    if body is not None:
        Path("body").write_bytes(body)
    got, out, _ = dna("receipt", "verify", "body", "--head", "head", "--key", "key.pem.pub", *further)

    assert (got, out.partition(":")[0]) == (code, word)


def test_a_stream_that_broke_off_is_unverified(dna: Run, answer: dict[str, str]) -> None:
    Path("head").write_text("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n")
    Path("body").write_bytes(b"data: 1\n\n")
    code, out, _ = dna("receipt", "verify", "body", "--head", "head", "--key", "key.pem.pub")

    assert (code, out.startswith("unverified: the answer has no receipt")) == (3, True)


def test_a_head_without_a_status_and_nobody_trusted(dna: Run, answer: dict[str, str]) -> None:
    assert dna("receipt", "verify", "body", "--head", "head")[0] == 2
    Path("head").write_text("content-type: text/plain\r\n")
    assert dna("receipt", "verify", "body", "--head", "head", "--key", "key.pem.pub")[0] == 1
