"""The commands around a model's manifest: their options and their help; what they do is imported when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.options import Output, PassphraseFile
from gateway.cli.output import WRONG_USAGE, Format, Stop

manifest_app = typer.Typer(
    help="Measure a model and write its manifest; compare manifests; write them in other forms.",
    invoke_without_command=True,
    rich_markup_mode=None,
)
key_app = typer.Typer(help="Make keys.", no_args_is_help=True, rich_markup_mode=None)
receipt_app = typer.Typer(help="Verify receipts.", no_args_is_help=True, rich_markup_mode=None)

File = Annotated[Path, typer.Argument(help="A manifest; - reads standard input.", show_default=False)]
GnupgHome = Annotated[Path | None, typer.Option(help="GnuPG home.", show_default="the user's own")]
PublicKeys = Annotated[list[Path], typer.Option("--key", help="Public key (PEM) whose signatures count. Repeatable.")]
PrivateKey = Annotated[Path | None, typer.Option("--key", help="Private key (PEM).")]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.add_typer(manifest_app, name="manifest")
    app.add_typer(key_app, name="key")
    app.add_typer(receipt_app, name="receipt")
    app.command("sign")(sign_command)
    app.command("verify")(verify_command)


@manifest_app.callback()
def manifest_command(
    context: typer.Context,
    model: Annotated[Path | None, typer.Option(help="Folder or file of the model.")] = None,
    output: Annotated[Path | None, typer.Option(help="Where it is written; - is standard output.")] = None,
    model_id: Annotated[str | None, typer.Option(help="What the model is called.", show_default="unnamed")] = None,
    version: Annotated[str | None, typer.Option(help="Its version.", show_default="the folder's name")] = None,
    artifact_only: Annotated[bool, typer.Option("--artifact-only", help="Leave out framework and hardware.")] = False,
    tensors: Annotated[bool, typer.Option("--tensors", help="Hash tensor by tensor, too.")] = False,
    sign: Annotated[Path | None, typer.Option(help="Sign with this Ed25519 private key (PEM).")] = None,
    passphrase_file: PassphraseFile = None,
    engine: Annotated[str, typer.Option(help="auto, transformers, at-rest, or a function module:function.")] = "auto",
    probe: Annotated[
        bool | None, typer.Option("--probe/--no-probe", help="Ask the tokenizer.", show_default="where it can be asked")
    ] = None,
    exclude: Annotated[list[str], typer.Option(help="Glob of weight files to leave out. Repeatable.")] = [],  # noqa: B006 - typer's own way
    golden: Annotated[Path | None, typer.Option(help="Ids to answer at every start.")] = None,
    digest_cache: Annotated[
        Path | None, typer.Option(help="Remember digests in this folder: faster, and only stat-cached.")
    ] = None,
) -> None:
    """Measure a model and write its manifest: `dna manifest --model DIR --output FILE`."""
    if context.invoked_subcommand is not None:
        return
    if model is None or output is None:
        raise Stop("say what to measure and where to write: --model DIR --output FILE", WRONG_USAGE)
    from gateway.cli.manifest import write_manifest
    from inference_dna.making.generate import Order

    write_manifest(
        Order(
            model=model,
            output=output,
            model_id=model_id,
            version=version,
            artifact_only=artifact_only,
            tensors=tensors,
            sign=sign,
            passphrase_file=passphrase_file,
            engine=engine,
            probe=probe,
            exclude=tuple(exclude),
            golden=golden,
            digest_cache=digest_cache,
        )
    )


@manifest_app.command("diff")
def diff_command(
    before: Annotated[Path, typer.Argument(help="A manifest.", show_default=False)],
    after: Annotated[Path, typer.Argument(help="Another one.", show_default=False)],
    output: Output = Format.TABLE,
) -> None:
    """Say which sections of two manifests differ, and how. Exit 3 where they do."""
    from gateway.cli.manifest import print_difference

    print_difference(before, after, output=output)


@manifest_app.command("statement")
def statement_command(
    manifest: File,
    sign: Annotated[Path | None, typer.Option(help="Sign with this Ed25519 private key, in a DSSE envelope.")] = None,
    passphrase_file: PassphraseFile = None,
) -> None:
    """Print a manifest as an in-toto statement, one subject per file."""
    from gateway.cli.manifest import print_statement

    print_statement(manifest, key=sign, passphrase_file=passphrase_file)


@manifest_app.command("cyclonedx")
def cyclonedx_command(manifest: File) -> None:
    """Print a manifest as a CycloneDX bill of materials."""
    from gateway.cli.manifest import print_bill_of_materials

    print_bill_of_materials(manifest)


@key_app.command("new")
def new_key_command(
    output: Annotated[Path, typer.Argument(help="The private key; .pub is the public one.", show_default=False)],
    passphrase_file: PassphraseFile = None,
) -> None:
    """Make an Ed25519 key pair."""
    from gateway.cli.signing import make_key

    make_key(output, passphrase_file=passphrase_file)


def sign_command(
    target: Annotated[Path, typer.Argument(help="A manifest, or a model's folder.", show_default=False)],
    key: PrivateKey = None,
    gpg: Annotated[str | None, typer.Option(help="Sign with GPG: fingerprint of the primary key.")] = None,
    gnupg_home: GnupgHome = None,
    passphrase_file: PassphraseFile = None,
    output: Annotated[Path | None, typer.Option(help="Where to write.", show_default="in place, or model.sig")] = None,
) -> None:
    """Sign a manifest (Ed25519 or GPG), or a whole folder as OpenSSF's model_signing does (elliptic curve key)."""
    from gateway.cli.signing import sign

    sign(target, key=key, gpg=gpg, gnupg_home=gnupg_home, passphrase_file=passphrase_file, output=output)


def verify_command(
    target: Annotated[Path, typer.Argument(help="A manifest; with --bundle, a folder.", show_default=False)],
    model: Annotated[Path | None, typer.Option(help="The folder that the manifest is of.")] = None,
    keys: PublicKeys = [],  # noqa: B006 - typer's own way
    trust: Annotated[Path | None, typer.Option(help="Document of trusted keys, with bounds of time.")] = None,
    gpg: Annotated[list[str], typer.Option(help="Fingerprint of a trusted GPG primary key. Repeatable.")] = [],  # noqa: B006
    gnupg_home: GnupgHome = None,
    extra: Annotated[list[str], typer.Option(help="LABEL=PATH of files outside the folder. Repeatable.")] = [],  # noqa: B006
    adapter: Annotated[list[str], typer.Option(help="NAME=DIR of an adapter. Repeatable.")] = [],  # noqa: B006
    bundle: Annotated[Path | None, typer.Option(help="Bundle of model_signing to verify a folder with.")] = None,
    output: Output = Format.TABLE,
) -> None:
    """Verify a model: signed by a trusted key, and no file extra, missing or changed. Exit 1 otherwise."""
    from gateway.cli.signing import beside, verify_bundle, verify_manifest

    if bundle is not None:
        verify_bundle(target, bundle=bundle, keys=keys, output=output)
    else:
        verify_manifest(
            target,
            model=model,
            keys=keys,
            trust=trust,
            gpg=gpg,
            gnupg_home=gnupg_home,
            beside=beside(extra, adapter),
            output=output,
        )


@receipt_app.command("verify")
def verify_receipt_command(
    body: Annotated[Path, typer.Argument(help="The body of the answer as it arrived.", show_default=False)],
    head: Annotated[Path, typer.Option(help="Its status line and headers, as curl -D saves them.", show_default=False)],
    receipt: Annotated[str | None, typer.Option(help="The receipt itself.", show_default="from head or body")] = None,
    keys: PublicKeys = [],  # noqa: B006 - typer's own way
    trust: Annotated[Path | None, typer.Option(help="Document of trusted keys, with bounds of time.")] = None,
    request: Annotated[Path | None, typer.Option(help="The body that was sent; compared where given.")] = None,
    nonce: Annotated[str | None, typer.Option(help="What was sent as X-Inference-Nonce.")] = None,
    output: Output = Format.TABLE,
) -> None:
    """Say what the receipt of an answer proves. Exit 0 valid, 1 invalid, 3 unverified."""
    from gateway.cli.receipt import verify_receipt

    verify_receipt(
        body, head=head, receipt=receipt, keys=keys, trust=trust, request=request, nonce=nonce, output=output
    )
