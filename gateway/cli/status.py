"""`dna status`, `dna health`, `dna contract prune`: look into a running gateway."""

from __future__ import annotations

from typing import Any

import typer

from gateway.cli.ask import ask
from gateway.cli.output import FAILED, WRONG_USAGE, Format, Stop, print_json, print_table

BAD = ("ejected", "suspect", "down", "rejected", "missing")


def print_status(admin: str | None, *, output: Format) -> None:
    """Print what the gateway knows, what is amiss first."""
    status = ask(admin, "/status", member="documents_by_state")
    if output is Format.JSON:
        print_json(status)
        return
    typer.echo(_headline(status))
    for problem in status["source"]["problems"]:
        typer.echo(f"source: {problem}")
    print_table(
        ("INSTANCE", "MODEL", "VERSION", "IDENTITY", "LIVENESS", "DNA", "LAST PROBE", "REASON"),
        _instances(status),
        bad=BAD,
    )
    amiss = [entry for entry in status["documents"] if entry["state"] != "ok" or entry["warnings"] or entry["note"]]
    if amiss:
        typer.echo("")
        print_table(("DOCUMENT", "STATE", "IN FORCE", "WHY"), map(_document, amiss), bad=BAD)


def _headline(status: dict[str, Any]) -> str:
    documents = ", ".join(f"{count} {state}" for state, count in status["documents_by_state"].items() if count)
    state = "draining" if status["draining"] else "ready" if status["ready"] else "not ready"
    return (
        f"gateway {status['gateway']} {status['program']}{' compiled' if status['compiled'] else ''}: {state}, "
        f"generation {status['generation']}, "
        f"documents {documents or 'none'}, up {status['uptime_seconds']:.0f} s"
    )


def _instances(status: dict[str, Any]) -> list[tuple[str, ...]]:
    return [
        (
            one["id"],
            one["model_id"],
            one["version"],
            one["identity"],
            one["liveness"],
            one["dna"] or "-",
            _probe(one["last_probe"]),
            one["reason"],
        )
        for one in status["instances"]
    ]


def _probe(probe: dict[str, Any] | None) -> str:
    if probe is None:
        return "never"
    return f"{probe['outcome']} {probe['seconds_ago']:.0f} s ago"


def _document(entry: dict[str, Any]) -> tuple[str, ...]:
    why = [*entry["faults"], *entry["warnings"]]
    sentences = [f"{fault['path']}: {fault['message']}" if fault["path"] else fault["message"] for fault in why]
    if entry["note"]:
        sentences.append(entry["note"])
    in_force = entry["in_force"]
    shown = f"{in_force['sha']} of generation {in_force['generation']}" if in_force else "nothing"
    return (entry["key"], entry["state"], shown, "; ".join(sentences))


def print_health(admin: str | None) -> None:
    """Say whether the gateway is ready.

    Raises:
        Stop: It is not, or it does not run.
    """
    readiness = ask(admin, "/readyz", accept=(200, 503), member="ready")
    if not readiness["ready"]:
        raise Stop(f"not ready: {readiness['reason']}", FAILED)
    typer.echo(f"ready, generation {readiness['generation']}")


def prune(admin: str | None, *, confirm: bool) -> None:
    """Confirm that missing documents are gone.

    Raises:
        Stop: Without `confirm`, with what it would remove.
    """
    if not confirm:
        status = ask(admin, "/status", member="documents_by_state")
        missing = [entry["key"] for entry in status["documents"] if entry["state"] == "missing"]
        if not missing:
            typer.echo("nothing is missing")
            return
        listed = "\n  ".join(missing)
        raise Stop(f"nothing was removed; to remove these, add --confirm:\n  {listed}", WRONG_USAGE)
    answer = ask(admin, "/documents/prune", body={"confirm": True})
    for key in answer["removed"]:
        typer.echo(key)
    typer.echo(f"removed {len(answer['removed'])}, generation {answer['generation']}", err=True)
