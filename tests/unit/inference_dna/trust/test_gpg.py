"""GPG signatures, made and judged by the real program."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from inference_dna.canonical import Refused
from inference_dna.manifest import parse_manifest, signed_bytes
from inference_dna.trust import gpg
from inference_dna.trust.gpg import Standing, parse_status
from inference_dna.trust.keys import TrustedKey, gpg_key
from inference_dna.trust.signing import Signers, sign_gpg, signers
from tests.support.gnupg import HAS_GPG, NO_GPG, Home, gnupg_home
from tests.support.manifests import manifest_document

needs_gpg = pytest.mark.skipif(not HAS_GPG, reason=NO_GPG)
NOW = datetime(2025, 2, 1, tzinfo=UTC)
LONG_AGO = "20200101T000000"


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    with gnupg_home() as made:
        yield made


@pytest.fixture(scope="module")
def release(home: Home) -> str:
    return home.new_key("release@example.org")


@pytest.fixture(scope="module")
def foreign(home: Home) -> str:
    return home.new_key("foreign@example.org")


def judged(document: dict[str, Any], *keys: TrustedKey, home: Home) -> Signers:
    return signers(parse_manifest(json.dumps(document)), keys, now=NOW, gnupg_home=home.path)


def carrying(sig: str) -> dict[str, Any]:
    return {**manifest_document(), "signatures": [{"alg": "gpg", "fingerprint": "0" * 40, "sig": sig}]}


@needs_gpg
def test_a_signature_by_the_pinned_key_is_good(home: Home, release: str) -> None:
    document: Any = sign_gpg(manifest_document(), release, home=home.path)

    assert document["signatures"][0]["fingerprint"] == release.lower()
    assert judged(document, gpg_key(release), home=home).require() == (release,)


@needs_gpg
def test_the_key_may_come_with_the_configuration_and_no_ring(home: Home, release: str, tmp_path: Path) -> None:
    document = sign_gpg(manifest_document(), release, home=home.path)
    key = gpg_key(release, home.public(release))

    found = signers(parse_manifest(json.dumps(document)), [key], now=NOW, gnupg_home=tmp_path / "none")
    assert found.require() == (release,)


@needs_gpg
def test_a_key_that_is_merely_in_the_ring_proves_nothing(home: Home, release: str, foreign: str) -> None:
    document = sign_gpg(manifest_document(), foreign, home=home.path)

    with pytest.raises(Refused, match="not signed by a trusted key"):
        judged(document, gpg_key(release), home=home).require()
    with pytest.raises(Refused, match="no GPG key is trusted"):
        judged(document, home=home).require()


@needs_gpg
def test_the_name_in_the_document_proves_nothing(home: Home, release: str, foreign: str) -> None:
    document: Any = sign_gpg(manifest_document(), foreign, home=home.path)
    document["signatures"][0]["fingerprint"] = release.lower()

    with pytest.raises(Refused, match="not signed by a trusted key"):
        judged(document, gpg_key(release), home=home).require()


@needs_gpg
def test_other_content_is_a_bad_signature(home: Home, release: str) -> None:
    document = {**sign_gpg(manifest_document(), release, home=home.path), "created_at": "2026-01-01T00:00:00Z"}

    with pytest.raises(Refused, match="did not sign this content"):
        judged(document, gpg_key(release), home=home).require()


@needs_gpg
def test_a_subkey_counts_for_its_primary(home: Home) -> None:
    primary = home.new_key("subkey@example.org")
    home.add_signing_subkey(primary)
    sig = home.detached(signed_bytes(manifest_document()), primary)
    with gpg.ring([gpg_key(primary)], home=home.path) as ring:
        (signature,) = ring.judge(sig, signed_bytes(manifest_document()))

    assert (signature.standing, signature.primary) == (Standing.GOOD, primary)
    assert judged(carrying(sig), gpg_key(primary), home=home).require() == (primary,)


@needs_gpg
def test_an_expired_key_does_not_count(home: Home) -> None:
    expired = home.new_key("expired@example.org", expires="2020-06-01", at=LONG_AGO)
    sig = home.detached(signed_bytes(manifest_document()), expired, at=LONG_AGO)

    with pytest.raises(Refused, match="the key expired"):
        judged(carrying(sig), gpg_key(expired), home=home).require()


@needs_gpg
def test_bounds_of_the_configuration_hold_for_gpg_keys_too(home: Home, release: str) -> None:
    document = sign_gpg(manifest_document(), release, home=home.path)
    key = TrustedKey(gpg_key(release).algorithm, release, not_after=NOW)

    with pytest.raises(Refused, match="expired at"):
        judged(document, key, home=home).require()


@needs_gpg
def test_several_signatures_in_one_block_are_judged_each(home: Home, release: str, foreign: str) -> None:
    both = home.detached(signed_bytes(manifest_document()), foreign, release)
    found = judged(carrying(both), gpg_key(release), home=home)

    assert found.require() == (release,)
    assert len(found.unproven) == 1


@needs_gpg
@pytest.mark.parametrize(
    "sig", ["", "no signature", "-----BEGIN PGP SIGNATURE-----\n\nAAAA\n-----END PGP SIGNATURE-----\n"]
)
def test_text_that_is_no_signature(sig: str, home: Home, release: str) -> None:
    with pytest.raises(Refused, match="not signed by a trusted key"):
        judged(carrying(sig), gpg_key(release), home=home).require()


@needs_gpg
@pytest.mark.parametrize("form", [["--armor", "--sign"], ["--clearsign"]], ids=["inline", "clear"])
def test_a_signature_that_brings_its_own_content_is_none(form: list[str], home: Home, release: str) -> None:
    made = home.run(*form, "--local-user", release, content=b"other content\n").decode()

    with pytest.raises(Refused, match="cannot be read"):
        judged(carrying(made), gpg_key(release), home=home).require()


@needs_gpg
def test_a_signature_over_a_weak_hash_does_not_count(home: Home) -> None:
    key = home.new_key("weak@example.org")
    weak = home.run(
        "--digest-algo",
        "SHA1",
        "--armor",
        "--detach-sign",
        "--local-user",
        key,
        content=signed_bytes(manifest_document()),
    ).decode()

    assert not judged(carrying(weak), gpg_key(key), home=home).good


@needs_gpg
def test_signing_with_a_passphrase_asks_nobody(home: Home, tmp_path: Path) -> None:
    key = home.new_key("locked@example.org", passphrase="secret")
    file = tmp_path / "passphrase"
    file.write_text("secret\n")

    document = sign_gpg(manifest_document(), key, home=home.path, passphrase_file=file)
    assert judged(document, gpg_key(key), home=home).require() == (key,)


@needs_gpg
@pytest.mark.parametrize("fingerprint", ["F" * 40, "DEADBEEF"])
def test_a_key_that_is_not_there_cannot_sign(fingerprint: str, home: Home) -> None:
    with pytest.raises(Refused):
        sign_gpg(manifest_document(), fingerprint, home=home.path)


@needs_gpg
def test_a_pinned_key_that_is_nowhere_is_told(home: Home, release: str) -> None:
    document = sign_gpg(manifest_document(), release, home=home.path)

    with pytest.raises(Refused, match="import it, or give the key itself"):
        judged(document, gpg_key("F" * 40), home=home)


@needs_gpg
def test_material_that_is_no_key_is_told(home: Home, release: str) -> None:
    document = sign_gpg(manifest_document(), release, home=home.path)

    with pytest.raises(Refused, match="cannot be imported"):
        judged(document, gpg_key(release, b"no key"), home=home)


def test_without_the_program_the_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")

    with pytest.raises(Refused, match="install GnuPG"):
        sign_gpg(manifest_document(), "F" * 40)


SIGNER, PRIMARY = "A" * 40, "B" * 40
VALID = f"[GNUPG:] VALIDSIG {SIGNER} 2025-01-31 1738324800 0 4 0 22 10 00"


@pytest.mark.parametrize(
    ("lines", "standing", "primary"),
    [
        pytest.param(["GOODSIG AAAA release", f"{VALID} {PRIMARY}"], Standing.GOOD, PRIMARY, id="tenth-field"),
        pytest.param(
            ["GOODSIG AAAA release", VALID, f"TRUST_ULTIMATE {PRIMARY}"], Standing.GOOD, SIGNER, id="no-tenth-field"
        ),
        pytest.param(["GOODSIG AAAA release"], Standing.UNPROVEN, "", id="good-without-valid"),
        pytest.param(["EXPKEYSIG AAAA release", f"{VALID} {PRIMARY}"], Standing.UNPROVEN, PRIMARY, id="expired-key"),
        pytest.param(["EXPSIG AAAA release", f"{VALID} {PRIMARY}"], Standing.UNPROVEN, PRIMARY, id="expired-signature"),
        pytest.param(["REVKEYSIG AAAA release", f"{VALID} {PRIMARY}"], Standing.UNPROVEN, PRIMARY, id="revoked-key"),
        pytest.param(
            ["GOODSIG AAAA r", f"{VALID} {PRIMARY}", "REVKEYSIG AAAA r"], Standing.UNPROVEN, PRIMARY, id="both"
        ),
        pytest.param(["ERRSIG AAAA 22 10 00 1738324800 9"], Standing.UNPROVEN, "", id="no-public-key"),
        pytest.param(["BADSIG AAAA release"], Standing.BAD, "", id="bad"),
        pytest.param([], Standing.UNPROVEN, "", id="silence"),
    ],
)
def test_status_lines(lines: list[str], standing: Standing, primary: str) -> None:
    text = "\n".join(["[GNUPG:] NEWSIG", *(line if line.startswith("[") else f"[GNUPG:] {line}" for line in lines)])
    (signature,) = parse_status(text)

    assert (signature.standing, signature.primary) == (standing, primary)


def test_lines_before_the_first_signature_and_chatter_are_passed_over() -> None:
    assert parse_status("gpg: hello\n[GNUPG:] GOODSIG AAAA x\n[GNUPG:] NODATA 4\n") == ()
