"""`dna contract …`: the commands, their options and their help; what they do is imported when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.options import Manner, Model, Output, PassphraseFile, Source, VersionText, in_manner
from gateway.cli.output import Format

contract_app = typer.Typer(
    help="Check documents and write them safely; their history; let removed ones go.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Files = Annotated[
    list[Path],
    typer.Argument(
        help="Documents, folders laid out like the keys, output of `consul kv export`; - reads one of these.",
        show_default=False,
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.add_typer(contract_app, name="contract")


@contract_app.command("lint")
def lint_command(
    files: Files = [],  # noqa: B006 - typer's own way
    source: Source = None,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings count as findings.")] = False,
    output: Output = Format.TABLE,
) -> None:
    """Check documents, each by itself and all together. Exit 3 where there are findings."""
    from gateway.cli.lint import lint

    lint(files, source, strict=strict, output=output)


@contract_app.command("diff")
def diff_command(
    files: Annotated[
        list[Path],
        typer.Argument(help="What is newer; or what is older and what is newer.", metavar="[OLDER] NEWER"),
    ],
    source: Source = None,
    output: Output = Format.TABLE,
) -> None:
    """Say field by field how files differ from what lies in the source, or from other files. Exit 3 where they do."""
    from gateway.cli.apply import diff
    from gateway.cli.output import WRONG_USAGE, Stop

    if len(files) > 2:
        raise Stop("name one file or folder, or two to compare with each other", WRONG_USAGE)
    older, newer = (None, files[0]) if len(files) == 1 else files
    diff(older, newer, source, output=output)


@contract_app.command("apply")
@in_manner
def apply_command(
    files: Files,
    *,
    index: Annotated[
        str | None, typer.Option(help="What `get` said when the document was read; another one now is not overwritten.")
    ] = None,
    delete: Annotated[bool, typer.Option("--delete", help="Delete documents that are not among the files.")] = False,
    manner: Manner,
) -> None:
    """Write documents where they differ: checked first, shown, and never over what was not read."""
    from gateway.cli.apply import apply

    apply(files, manner, index=index, delete=delete)


@contract_app.command("import")
@in_manner
def import_command(
    file: Annotated[Path, typer.Argument(help="Output of `consul kv export` or `dna contract export`; - reads it.")],
    *,
    delete: Annotated[bool, typer.Option("--delete", help="Delete documents that are not in the file.")] = False,
    manner: Manner,
) -> None:
    """Write the documents of an export, as `apply` does."""
    from gateway.cli.apply import apply

    apply([file], manner, index=None, delete=delete)


@contract_app.command("export")
def export_command(source: Source = None) -> None:
    """Print every document as `consul kv export` does; `consul kv import` reads it."""
    from gateway.cli.apply import export

    export(source)


@contract_app.command("get")
def get_command(
    model: Annotated[str | None, typer.Argument(help="Model id; without one, every document is listed.")] = None,
    version: Annotated[str | None, typer.Argument(help="Version; without one, those of the model are listed.")] = None,
    source: Source = None,
    output: Output = Format.TABLE,
) -> None:
    """Print a contract as it lies there, or list what is there and what the gateway makes of it."""
    from gateway.cli.get import document_key, get_document, list_documents

    if model is not None and version is not None:
        get_document(source, document_key("contract", model, version), output=output)
    else:
        list_documents(source, model, kind=None, output=output)


@contract_app.command("history")
def history_command(
    model: Model,
    version: VersionText,
    source: Source = None,
    show: Annotated[int | None, typer.Option(help="Print the text of this entry.")] = None,
    output: Output = Format.TABLE,
) -> None:
    """Say who wrote a contract, when and why."""
    from gateway.cli.get import document_key, print_history

    print_history(source, document_key("contract", model, version), show=show, output=output)


@contract_app.command("rollback")
@in_manner
def rollback_command(
    model: Model,
    version: VersionText,
    to: Annotated[int | None, typer.Option(help="Entry of the history.", show_default="the text before")] = None,
    *,
    manner: Manner,
) -> None:
    """Write an earlier text of a contract again."""
    from gateway.cli.get import document_key, rollback

    rollback(document_key("contract", model, version), manner, to=to)


@contract_app.command("enroll")
@in_manner
def enroll_command(
    model: Model,
    version: VersionText,
    instance: Annotated[
        list[str], typer.Option(help="Base URL to ask. Repeatable.", show_default="those of the contract")
    ] = [],  # noqa: B006 - typer's own way
    *,
    manner: Manner,
) -> None:
    """Ask running workers what they are, show it, and write their DNA into the contract."""
    from gateway.cli.enroll import enroll

    enroll(model, version, manner, instances=instance)


@contract_app.command("sign")
def sign_command(
    files: Annotated[list[Path], typer.Argument(help="Contracts and routes; - reads one.", show_default=False)],
    key: Annotated[Path, typer.Option("--key", help="Ed25519 private key (PEM); `dna key new` makes one.")],
    passphrase_file: PassphraseFile = None,
) -> None:
    """Sign documents in place, as gateways with GATEWAY_CONTRACT_KEYS ask for."""
    from gateway.cli.seal import sign_documents

    sign_documents(files, key, passphrase_file=passphrase_file)
