"""How every command that writes documents goes about it: sign, check, show, ask, write what is still as it was read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import typer

from contracts.faults import DocumentRefused
from contracts.key import DocumentKind
from contracts.reading import read
from contracts.signature import MEMBER, is_stale, sign
from gateway import runtime
from gateway.cli.files import read_private_key
from gateway.cli.options import Manner
from gateway.cli.output import FASTER, FINDINGS, WRONG_USAGE, Format, Stop, print_as
from gateway.cli.places import note, open_place, trusted_signers
from gateway.cli.proposal import Proposal, document_of, print_fields, print_proposal
from gateway.control.documents import DocumentState
from gateway.edits.check import Checked, check
from gateway.edits.difference import differences
from gateway.edits.order import ordered
from gateway.edits.place import Change, Faster, Holding, Place, PlaceFailed
from gateway.edits.text import edited, quoted_text
from gateway.edits.traffic import traffic
from gateway.signers import Signers
from inference_dna.canonical import Refused
from inference_dna.trust.passphrase import read_passphrase

T = TypeVar("T")


Propose = Callable[[Holding], Sequence[Change]]
"""From what lies there to what should lie there, the same or not; raises `Stop` where that cannot be."""


def write_documents(manner: Manner, propose: Propose) -> None:
    """Read a place, let a command say what to change, and bring that about.

    Raises:
        Stop: The gateway would refuse it (3), somebody was faster (4), nobody agreed, or the place failed (1).
    """
    place = open_place(manner.source)
    holding = reached(place.read)
    signers = trusted_signers()
    changes = ordered(_changing(propose(holding), manner, signers))
    checked = check(holding, changes, signers)
    if checked.refused:
        for found in checked.refused:
            typer.echo(f"{found.key}: {found.fault}", err=True)
        raise Stop("nothing was written: the gateway would refuse this", FINDINGS)
    proposal = Proposal(place.name, changes, checked.warnings, traffic(checked.before, checked.after))
    if not changes:
        _finish(proposal, manner, written=False, told=f"nothing to write: {place.name} says so already")
        return
    if manner.output is Format.TABLE:
        print_proposal(proposal)
    _tell_unknown(checked, changes)
    if manner.dry_run:
        _finish(proposal, manner, written=False, told="nothing was written: this was a dry run")
        return
    _ask(manner)
    _write(place, changes, manner)
    _finish(proposal, manner, written=True, told=f"written to {place.name}: {', '.join(one.key for one in changes)}")


def _tell_unknown(checked: Checked, changes: Sequence[Change]) -> None:
    """Say where the requests of today go by a state that only the gateways know."""
    refused = DocumentState.REJECTED
    models = {change.document.model_id for change in changes}
    entries = checked.before.entries.values()
    keys = [str(one.place) for one in entries if one.state is refused and one.place and one.place.model_id in models]
    if keys:
        typer.echo(
            f"dna: the gateways refuse what lies there now as {', '.join(keys)}, and serve what was good before; "
            "NOW does not know that",
            err=True,
        )


def reached(call: Callable[[], T]) -> T:
    """Call a place, and stop with its sentence where it fails."""
    try:
        return call()
    except PlaceFailed as failed:
        raise Stop(str(failed)) from failed


def signed_text(kind: DocumentKind, text: bytes, key: Path, passphrase_file: Path | None) -> bytes:
    """Give a document's text with its signature, everything else as it stands.

    Raises:
        Stop: The key cannot be used.
    """
    try:
        made = sign(kind, read(text).value, read_private_key(key), read_passphrase(passphrase_file))
    except Refused as refused:
        raise Stop(f"--key {key}: {refused}") from refused
    quoted = {name: quoted_text(value) for name, value in made.items()}
    return edited(text, lambda document: document.__setitem__(MEMBER, quoted))


def _changing(changes: Sequence[Change], manner: Manner, signers: Signers) -> list[Change]:
    """Sign what is to be signed, and leave out what lies there already.

    Raises:
        Stop: A signature would be broken, and no key is known to check that by.
    """
    signed = [_signed(change, manner) for change in changes]
    changing = [change for change in signed if change.text != (change.before.text if change.before else None)]
    if not signers:
        # The gateways may well ask for signatures; what was wished would then not come about, and nobody would know.
        broken = [change.key for change in changing if _breaks_signature(change)]
        if broken:
            raise Stop(
                f"nothing was written: {', '.join(broken)} is signed, and would have to be signed anew: --key KEY "
                "(or name the gateways' public keys in GATEWAY_CONTRACT_KEYS, to have signatures checked)",
                FINDINGS,
            )
    return changing


def _signed(change: Change, manner: Manner) -> Change:
    """Sign a text; one that lies there as it is, signed by whomever, stays."""
    is_there = change.before is not None and change.before.text == change.text
    if manner.key is None or change.text is None or (is_there and MEMBER in read(change.text).value):
        return change
    text = signed_text(change.document.kind, change.text, manner.key, manner.passphrase_file)
    return replace(change, text=text)


def _breaks_signature(change: Change) -> bool:
    if change.before is None or change.text is None:
        return False
    try:
        return is_stale(change.document.kind, read(change.before.text).value, read(change.text).value)
    except DocumentRefused:  # what lies there cannot be read, so its signature binds nobody
        return False


def _ask(manner: Manner) -> None:
    if manner.yes:
        return
    if not sys.stdin.isatty():
        raise Stop("nothing was written: nobody is there to ask; add --yes, or --dry-run to look only", WRONG_USAGE)
    if manner.output is not Format.TABLE:
        form = manner.output.value
        raise Stop(f"nothing was written: with -o {form} nothing is shown to agree to; add --yes", WRONG_USAGE)
    try:
        agreed = typer.confirm("Write this?", err=True)
    except typer.Abort:  # Ctrl-C, or the end of the input
        agreed = False
    if not agreed:
        raise Stop("nothing was written")


def _write(place: Place, changes: Sequence[Change], manner: Manner) -> None:
    try:
        reached(lambda: place.write(changes, note(manner.reason, manner.author, runtime.wall())))
    except Faster as faster:
        _print_faster(place, [change for change in changes if change.key in faster.keys])
        earlier = f"; written before that, and staying: {', '.join(faster.written)}" if faster.written else ""
        raise Stop(
            f"somebody was faster: these documents changed after they were read, and were not overwritten{earlier}; "
            "run the command again to see the difference to what lies there now",
            FASTER,
        ) from faster


def _print_faster(place: Place, changes: Sequence[Change]) -> None:
    """Show what somebody else changed meanwhile."""
    now = reached(place.read)
    for change in changes:
        held = now.documents.get(change.key)
        typer.echo(f"{change.key}, changed meanwhile:", err=True)
        before = change.before.text if change.before else None
        print_fields(differences(before, held.text if held else None), err=True)


def _finish(proposal: Proposal, manner: Manner, *, written: bool, told: str) -> None:
    if manner.output is not Format.TABLE:
        print_as(manner.output, {**document_of(proposal), "written": written})
    typer.echo(told, err=True)
