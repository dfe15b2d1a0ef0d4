"""`dna key new`, `dna sign`, `dna verify`: who made a model, and whether it is still what they made."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import typer

from gateway.cli.files import read_bytes
from gateway.cli.manifest import read_manifest
from gateway.cli.output import FAILED, WRONG_USAGE, Format, Stop, print_as, print_table
from inference_dna.canonical import Refused
from inference_dna.making.manifest_text import manifest_text
from inference_dna.making.whole_file import write_whole
from inference_dna.manifest import Manifest
from inference_dna.measure.pickles import pickle_notes
from inference_dna.trust.bundle import sign_folder, verify_folder_bundle
from inference_dna.trust.keys import TrustedKey, gpg_key, parse_keys, read_public_key
from inference_dna.trust.passphrase import read_passphrase
from inference_dna.trust.pem import new_key_pair
from inference_dna.trust.signing import sign_ed25519, sign_gpg, signers
from inference_dna.trust.verify import Beside, Finding, expected_files, held_pickles, verify_folder

_PRIVATE, _EXCLUSIVE = 0o600, os.O_WRONLY | os.O_CREAT | os.O_EXCL
_BUNDLE = "model.sig"


def make_key(output: Path, *, passphrase_file: Path | None) -> None:
    """Make an Ed25519 key pair: the private key for its owner alone, the public one beside it with `.pub`.

    Raises:
        Stop: A file of that name is there already, or cannot be written.
    """
    public = output.with_name(f"{output.name}.pub")
    try:
        private_text, public_text = new_key_pair(read_passphrase(passphrase_file))
        trusted = read_public_key(public_text)
        with os.fdopen(os.open(output, _EXCLUSIVE, _PRIVATE), "wb") as stream:
            stream.write(private_text)
        with public.open("xb") as stream:
            stream.write(public_text)
    except Refused as refused:
        raise Stop(str(refused)) from refused
    except FileExistsError as error:
        words = "is there already, and a key is never overwritten; name another file, or move that one away"
        raise Stop(f"{error.filename} {words}") from error
    except OSError as error:
        raise Stop(f"{error.filename}: {error.strerror}") from error
    typer.echo(f"{output} is the private key; keep it where you sign.")
    typer.echo(f"{public} is the public key {trusted.id}; give it to whoever verifies.")


def sign(
    target: Path,
    *,
    key: Path | None,
    gpg: str | None,
    gnupg_home: Path | None,
    passphrase_file: Path | None,
    output: Path | None,
) -> None:
    """Sign a manifest, or a whole folder as `model_signing` does.

    Raises:
        Stop: The key cannot be used, or the target is refused.
    """
    if (key is None) == (gpg is None):
        raise Stop("say who signs: --key FILE, or --gpg FINGERPRINT", WRONG_USAGE)
    try:
        if target.is_dir():
            written = _sign_folder(target, key, passphrase_file, output)
        else:
            written = output or target
            document = read_manifest(target).document
            if gpg is not None:
                signed = sign_gpg(document, gpg, home=gnupg_home, passphrase_file=passphrase_file)
            else:
                signed = sign_ed25519(document, _key(key), read_passphrase(passphrase_file))
            write_whole(written, manifest_text(signed))
    except Refused as refused:
        raise Stop(f"{target}: {refused}") from refused
    typer.echo(f"signed: {written}", err=True)


def verify_manifest(
    manifest: Path,
    *,
    model: Path | None,
    keys: Sequence[Path],
    trust: Path | None,
    gpg: Sequence[str],
    gnupg_home: Path | None,
    beside: Beside,
    output: Format,
) -> None:
    """Verify who signed a manifest and that a folder is what it says.

    Raises:
        Stop: Not signed by a trusted key, or a file is extra, missing or changed.
    """
    trusted = _trusted(keys, trust, gpg)
    if not trusted:
        raise Stop("say whom you trust: --key FILE, --trust FILE or --gpg FINGERPRINT", WRONG_USAGE)
    if model is None:
        raise Stop("say which folder the manifest is of: --model DIR", WRONG_USAGE)
    read = read_manifest(manifest)
    try:
        good = signers(read, trusted, now=datetime.now(UTC), gnupg_home=gnupg_home).require()
        findings = verify_folder(read, model, beside=beside)
        pickles = held_pickles(read, model)
    except Refused as refused:
        raise Stop(f"{manifest}: {refused}") from refused
    for note in pickle_notes(pickles):
        typer.echo(f"dna: {note}", err=True)
    _report(findings, _verified(read, good), output)


def beside(extra: Sequence[str], adapters: Sequence[str]) -> Beside:
    """Read `NAME=PATH` options.

    Raises:
        Stop: One of them is not of that form.
    """
    return Beside(_places(extra), _places(adapters))


def verify_bundle(folder: Path, *, bundle: Path, keys: Sequence[Path], output: Format) -> None:
    """Verify a folder against a bundle of `model_signing`, ours or theirs.

    Raises:
        Stop: Not signed by the key, or a file is extra, missing or changed.
    """
    if len(keys) != 1:
        raise Stop("a bundle is verified with one key: --key FILE", WRONG_USAGE)
    try:
        inside = bundle.resolve().parent == folder.resolve()
        name = bundle.name if inside else None
        checked = verify_folder_bundle(folder, read_bytes(bundle), read_bytes(keys[0]), signature_name=name)
    except Refused as refused:
        raise Stop(f"{bundle}: {refused}") from refused
    _report(checked.findings, f"verified: every file of {folder} is signed by {keys[0]}", output)
    for name in checked.unsigned:
        typer.echo(f"dna: not signed, as git's own: {name}", err=True)


def _sign_folder(folder: Path, key: Path | None, passphrase_file: Path | None, output: Path | None) -> Path:
    if key is None:
        raise Stop("a folder is signed with an elliptic curve key: --key FILE", WRONG_USAGE)
    written = output or Path(_BUNDLE)
    write_whole(written, json.dumps(sign_folder(folder, _key(key), read_passphrase(passphrase_file))) + "\n")
    return written


def _places(options: Sequence[str]) -> dict[str, Path]:
    pairs = [option.partition("=") for option in options]
    for name, equals, path in pairs:
        if not (name and equals and path):
            raise Stop(f"{name}{equals}{path} must be NAME=PATH", WRONG_USAGE)
    return {name: Path(path) for name, _, path in pairs}


def _key(path: Path | None) -> bytes:
    return b"" if path is None else read_bytes(path)


def _trusted(keys: Sequence[Path], trust: Path | None, gpg: Sequence[str]) -> list[TrustedKey]:
    try:
        trusted = [read_public_key(read_bytes(path)) for path in keys] + [gpg_key(one) for one in gpg]
        return trusted if trust is None else [*trusted, *parse_keys(read_bytes(trust))]
    except Refused as refused:
        raise Stop(str(refused)) from refused


def _verified(manifest: Manifest, good: Sequence[str]) -> str:
    subject = manifest.subject
    named = "a model without a name" if subject is None else f"{subject.model_id} {subject.version}"
    return f"verified: {named}, {len(expected_files(manifest))} files, signed by {', '.join(good)}"


def _report(findings: Sequence[Finding], verified: str, output: Format) -> None:
    if output is not Format.TABLE:
        print_as(
            output, [{"fault": finding.fault, "file": finding.name, "reason": finding.reason} for finding in findings]
        )
    elif findings:
        print_table(("FAULT", "FILE", "WHY"), [(each.fault, each.name, each.reason) for each in findings])
    else:
        typer.echo(verified)
    if findings:
        raise Stop(f"not as signed: {len(findings)}", FAILED)
