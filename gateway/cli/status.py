"""`dna status`, `dna health`, `dna contract prune`: look into a running gateway."""

from __future__ import annotations

from typing import Any

import typer

from gateway.cli.ask import ask
from gateway.cli.output import FAILED, WRONG_USAGE, Format, Stop, print_as, print_table

ODD = ("unreadable", "no_contract", "duplicate", "shared_address", "flapping")
BAD = ("ejected", "suspect", "down", "rejected", "missing")


def print_status(admin: str | None, *, output: Format) -> None:
    """Print what the gateway knows, what is amiss first."""
    status = ask(admin, "/status", member="documents_by_state")
    if output is not Format.TABLE:
        print_as(output, status)
        return
    typer.echo(_headline(status))
    for problem in status["source"]["problems"]:
        typer.echo(f"source: {problem}")
    if status["source"]["kept_seconds_ago"] is not None:
        typer.echo(f"source: a copy on disk serves, confirmed {status['source']['kept_seconds_ago']:.0f} s ago")
    if status["rights"] is not None:
        typer.echo(f"token: {_rights(status['rights'])}")
    print_table(
        ("INSTANCE", "MODEL", "VERSION", "IDENTITY", "LIVENESS", "DNA", "LAST PROBE", "REASON"),
        _instances(status),
        bad=BAD,
    )
    _print_services(status["services"])
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
        f"documents {documents or 'none'}{', only signed ones' if status['signers'] else ''}, "
        f"up {status['uptime_seconds']:.0f} s"
    )


def _rights(rights: dict[str, Any]) -> str:
    """Say whose token documents are read with."""
    return rights["problem"] or f"{rights['accessor']} ({', '.join(rights['policies']) or 'no policies'})"


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


def _print_services(services: list[dict[str, Any]]) -> None:
    """Print what of the catalogue is amiss."""
    for service in services:
        if not service["ok"]:
            typer.echo(f"service {service['service']}: {service['problem']}")
    rows = [
        (f"{service['service']}/{fault['registration']}", fault["address"], fault["oddity"], fault["message"])
        for service in services
        for fault in service["faults"]
    ]
    if rows:
        typer.echo("")
        print_table(("REGISTRATION", "ADDRESS", "ODDITY", "WHY"), rows, bad=ODD)


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
    return (entry["key"], entry["state"], shown, "; ".join(sentence.removesuffix(".") for sentence in sentences))


def print_health(admin: str | None, *, output: Format) -> None:
    """Say whether the gateway is ready.

    Raises:
        Stop: It is not, or it does not run.
    """
    readiness = ask(admin, "/readyz", accept=(200, 503), member="ready")
    if output is not Format.TABLE:
        print_as(output, readiness)
    if not readiness["ready"]:
        raise Stop(f"not ready: {readiness['reason']}", FAILED)
    if output is Format.TABLE:
        typer.echo(f"ready, generation {readiness['generation']}")


def prune(admin: str | None, *, confirm: bool, output: Format) -> None:
    """Confirm that missing documents are gone.

    Raises:
        Stop: Without `confirm`, with what it would remove.
    """
    if not confirm:
        status = ask(admin, "/status", member="documents_by_state")
        missing = [entry["key"] for entry in status["documents"] if entry["state"] == "missing"]
        if missing:
            listed = "\n  ".join(missing)
            raise Stop(f"nothing was removed; to remove these, add --confirm:\n  {listed}", WRONG_USAGE)
        answer = {"removed": [], "generation": status["generation"]}
    else:
        answer = ask(admin, "/documents/prune", body={"confirm": True})
    if output is not Format.TABLE:
        print_as(output, answer)
        return
    for key in answer["removed"]:
        typer.echo(key)
    told = f"removed {len(answer['removed'])}, generation {answer['generation']}" if confirm else "nothing is missing"
    typer.echo(told, err=confirm)
