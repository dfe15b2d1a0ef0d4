"""`dna route …`, `dna drain`, `dna undrain`: what moves requests; what the commands do is imported when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from gateway.cli.options import Manner, Model, Output, Source, VersionText, in_manner
from gateway.cli.output import Format

route_app = typer.Typer(
    help="Share requests among versions; the history of routes.", no_args_is_help=True, rich_markup_mode=None
)
Instance = Annotated[str, typer.Argument(help="host:port as `dna status` shows it, or a base URL.", show_default=False)]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.add_typer(route_app, name="route")
    app.command("drain")(drain_command)
    app.command("undrain")(undrain_command)


@route_app.command("set-canary")
@in_manner
def set_canary_command(
    model: Model,
    version: VersionText,
    percent: Annotated[float, typer.Argument(help="0 (none) to 100 (all).", show_default=False)],
    dna_prefix: Annotated[str | None, typer.Option(help="Of the rule, where a version has several.")] = None,
    *,
    manner: Manner,
) -> None:
    """Give a version this share of the requests that name no version."""
    from gateway.cli.canary import set_canary

    set_canary(model, version, percent, manner, dna_prefix=dna_prefix)


@route_app.command("promote")
@in_manner
def promote_command(
    model: Model,
    version: VersionText,
    default: Annotated[
        str | None, typer.Option(help="The new default, such as ^2.4.", show_default="the version")
    ] = None,
    *,
    manner: Manner,
) -> None:
    """Make a version the default and end its canary."""
    from gateway.cli.canary import promote

    promote(model, version, manner, default=default)


@route_app.command("abort")
@in_manner
def abort_command(
    model: Model,
    version: Annotated[str | None, typer.Argument(help="Version; without one, every canary ends.")] = None,
    *,
    manner: Manner,
) -> None:
    """Take the share of a canary; its requests go to the default again."""
    from gateway.cli.canary import abort

    abort(model, version, manner)


@route_app.command("get")
def get_command(
    model: Annotated[str | None, typer.Argument(help="Model id; without one, every route is listed.")] = None,
    source: Source = None,
    output: Output = Format.TABLE,
) -> None:
    """Print a route as it lies there, or list the routes there are."""
    from gateway.cli.get import document_key, get_document, list_documents

    if model is not None:
        get_document(source, document_key("route", model), output=output)
    else:
        list_documents(source, None, kind="route", output=output)


@route_app.command("history")
def history_command(
    model: Model,
    source: Source = None,
    show: Annotated[int | None, typer.Option(help="Print the text of this entry.")] = None,
    output: Output = Format.TABLE,
) -> None:
    """Say who wrote a route, when and why."""
    from gateway.cli.get import document_key, print_history

    print_history(source, document_key("route", model), show=show, output=output)


@route_app.command("rollback")
@in_manner
def rollback_command(
    model: Model,
    to: Annotated[int | None, typer.Option(help="Entry of the history.", show_default="the text before")] = None,
    *,
    manner: Manner,
) -> None:
    """Write an earlier text of a route again."""
    from gateway.cli.get import document_key, rollback

    rollback(document_key("route", model), manner, to=to)


@in_manner
def drain_command(
    instance: Instance,
    *,
    manner: Manner,
) -> None:
    """Send an instance no new requests, on every gateway that reads these documents."""
    from gateway.cli.drain import drain

    drain(instance, manner)


@in_manner
def undrain_command(
    instance: Instance,
    *,
    manner: Manner,
) -> None:
    """Let a drained instance have requests again."""
    from gateway.cli.drain import undrain

    undrain(instance, manner)
