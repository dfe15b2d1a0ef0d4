"""`dna explain`: the decision a request would get."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

from gateway.cli.ask import ask
from gateway.cli.output import Format, print_as, print_table


def print_explanation(admin: str | None, asked: Mapping[str, str | None], *, output: Format) -> None:
    """Ask the gateway and print version, instance and the reason for every candidate."""
    told = ask(admin, "/explain", query=asked, member="candidates")
    if output is not Format.TABLE:
        print_as(output, told)
        return
    typer.echo(_headline(told))
    canary = told["canary"]
    if canary is not None:
        typer.echo(_canary(canary))
    if told.get("available"):
        typer.echo(f"available: {', '.join(told['available'])}")
    rows = [
        (one["version"], one["instance"], f"{one['weight']:g}", "yes" if one["kept"] else "no", one["reason"])
        for one in told["candidates"]
    ]
    if rows:
        print_table(("VERSION", "INSTANCE", "WEIGHT", "FIT", "REASON"), rows)


def _headline(told: Mapping[str, Any]) -> str:
    if told["instance"] is None:
        return f"{told['status']} {told['code']}: {told['detail']}"
    return (
        f"{told['model']} {told['version']} on {told['instance']}, because {told['reason']} "
        f"(asked: {told['requested']}), generation {told['generation']}"
    )


def _canary(canary: Mapping[str, Any]) -> str:
    owned = canary["slice"]
    if owned is None:
        return f"canary: the key falls at {canary['bucket']:.6f}, no rule owns that"
    returned = "; it has no instance, so its share goes to the default" if canary["returned"] else ""
    return f"canary: the key falls at {canary['bucket']:.6f}, owned by {owned['version']}{returned}"
