"""`dna tokenizer`, `dna generator`, `dna code`: what surrounds the weights, bound to them. Their options and help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.options import Output
from gateway.cli.output import Format

tokenizer_app = typer.Typer(
    help="Pack a tokenizer, and open exactly that one.", no_args_is_help=True, rich_markup_mode=None
)
generator_app = typer.Typer(
    help="Pack a model with its post-processing into one file.", no_args_is_help=True, rich_markup_mode=None
)
code_app = typer.Typer(help="Look through post-processing code.", no_args_is_help=True, rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.add_typer(tokenizer_app, name="tokenizer")
    app.add_typer(generator_app, name="generator")
    app.add_typer(code_app, name="code")


@tokenizer_app.command("pack")
def pack_command(
    model: Annotated[Path, typer.Option(help="Folder of the model.", show_default=False)],
    version: Annotated[str, typer.Option(help="Its version.", show_default=False)],
    into: Annotated[Path, typer.Option(help="Folder to write into.")] = Path(),
    manifest: Annotated[
        Path | None, typer.Option(help="Note the archive in this manifest, before it is signed.")
    ] = None,
    extra: Annotated[list[str], typer.Option(help="LABEL=PATH of files outside the folder. Repeatable.")] = [],  # noqa: B006 - typer's own way
    output: Output = Format.TABLE,
) -> None:
    """Write tokenizer_<version>.tar.gz: the same files give the same bytes, on any machine."""
    from gateway.cli.tokenizer import pack

    pack(model, version=version, into=into, manifest=manifest, extra=extra, output=output)


@tokenizer_app.command("open")
def open_command(
    archive: Annotated[Path, typer.Argument(help="The archive.", show_default=False)],
    into: Annotated[Path, typer.Option(help="Folder to make.", show_default=False)],
    manifest: Annotated[Path | None, typer.Option(help="Manifest that names the archive.")] = None,
    digest: Annotated[str | None, typer.Option(help="sha256:… of the archive, in place of a manifest.")] = None,
    output: Output = Format.TABLE,
) -> None:
    """Check an archive against its manifest and lay its files into a new folder. Exit 1 where it is another one."""
    from gateway.cli.tokenizer import open_packed

    open_packed(archive, into=into, manifest=manifest, digest=digest, output=output)


@generator_app.command("pack")
def pack_generator_command(
    model: Annotated[Path, typer.Option(help="Folder of the model.", show_default=False)],
    version: Annotated[str, typer.Option(help="Its version.", show_default=False)],
    into: Annotated[Path, typer.Option(help="Folder to write into.")] = Path(),
    settings: Annotated[
        list[str],
        typer.Option("--set", help="NAME=JSON of a setting to compile in, over the model's own. Repeatable."),
    ] = [],  # noqa: B006 - typer's own way
    output: Output = Format.TABLE,
) -> None:
    """Write generator_<version>.ts: token ids in, token ids out, and nothing read from outside."""
    from gateway.cli.generator import pack

    pack(model, version=version, into=into, settings=settings, output=output)


@generator_app.command("show")
def show_command(
    archive: Annotated[Path, typer.Argument(help="A packed generator.", show_default=False)],
    output: Output = Format.TABLE,
) -> None:
    """Print what is compiled in, without running it. Exit 1 where it reads anything from outside."""
    from gateway.cli.generator import show

    show(archive, output=output)


@code_app.command("check")
def check_command(
    paths: Annotated[
        list[Path], typer.Argument(help="Python files, folders, TorchScript archives.", show_default=False)
    ],
    output: Output = Format.TABLE,
) -> None:
    """Find reads of the environment, of configuration stores, files or the network. Exit 3 where there are any."""
    from gateway.cli.code import check

    check(paths, output=output)
