"""Options that several commands share, and the manner of writing that they add up to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from gateway.cli.output import Format

Output = Annotated[Format, typer.Option("-o", "--output", help="Form of the output.")]
Source = Annotated[
    str | None,
    typer.Option(
        "--source",
        "--consul",
        help="Where the documents are: consul://HOST:PORT/inference, HOST:PORT of Consul, or file:DIR.",
        show_default="GATEWAY_SOURCE",
    ),
]
Model = Annotated[str, typer.Argument(help="Model id.", show_default=False)]
PassphraseFile = Annotated[Path | None, typer.Option(help="File with what the private key is encrypted with.")]
VersionText = Annotated[str, typer.Argument(help="Version, such as v1.2.0.", show_default=False)]


@dataclass(frozen=True, slots=True)
class Manner:
    """How a command writes documents, as its options say."""

    source: Source = None
    key: Annotated[
        Path | None, typer.Option("--key", help="Sign what is written with this Ed25519 private key (PEM).")
    ] = None
    passphrase_file: PassphraseFile = None
    reason: Annotated[str | None, typer.Option("--reason", "-m", help="Why; kept in the history.")] = None
    author: Annotated[str | None, typer.Option(help="Who; kept in the history.", show_default="user@machine")] = None
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change and which requests move, and no more.")
    ] = False
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")] = False
    output: Output = Format.TABLE


def in_manner(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command every option of `Manner` in place of its parameter `manner`, which gathers them."""
    hints = get_type_hints(command, include_extras=True)
    own = [one.replace(annotation=hints[one.name]) for one in signature(command).parameters.values()]
    shared = signature(Manner).parameters.values()
    members = get_type_hints(Manner, include_extras=True)

    @wraps(command)
    def run(**given: Any) -> None:
        manner = Manner(**{name: given.pop(name) for name in members})
        command(**given, manner=manner)

    ours = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in own if one.name != "manner"]
    ours += [one.replace(annotation=members[one.name], kind=Parameter.KEYWORD_ONLY) for one in shared]
    run.__signature__ = Signature(ours)  # type: ignore[attr-defined]  # what typer reads the options from
    run.__annotations__ = {one.name: one.annotation for one in ours}
    return run
