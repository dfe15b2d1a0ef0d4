"""`dna contract get`, `history`, `rollback`, and the same for routes: what lies there, what lay there, back to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

import typer

from contracts.faults import DocumentRefused
from contracts.key import DocumentKey, KeyRefused, parse_key
from contracts.reading import read
from contracts.signature import MEMBER
from gateway.cli.apply import change_to
from gateway.cli.options import Manner
from gateway.cli.output import FAILED, WRONG_USAGE, Format, Stop, print_as, print_table
from gateway.cli.places import open_place, trusted_signers
from gateway.cli.propose import reached, write_documents
from gateway.control.documents import SHA_SHOWN
from gateway.edits.check import check
from gateway.edits.difference import differences
from gateway.edits.history import Entry
from gateway.edits.place import Change, Held, Holding


def document_key(kind: str, model: str, version: str | None = None) -> str:
    """Name a document as its key does.

    Raises:
        Stop: The model id or the version is none.
    """
    text = f"routes/{model}" if kind == "route" else f"contracts/{model}/{version}"
    try:
        return str(parse_key(text))
    except KeyRefused as refused:
        raise Stop(str(refused), WRONG_USAGE) from refused


def get_document(source: str | None, key: str, *, output: Format) -> None:
    """Print one document as it lies there; its index goes to standard error.

    Raises:
        Stop: There is none, or the place fails.
    """
    held = held_document(reached(open_place(source).read), key)
    if output is Format.TABLE:
        typer.echo(held.text.decode("utf-8", "backslashreplace"), nl=not held.text.endswith(b"\n"))
        typer.echo(
            f"{key} at index {held.stamp}; write it back with: dna contract apply FILE --index {held.stamp}", err=True
        )
    else:
        print_as(
            output, {**_summary(held), "document": _value(held.text), "text": held.text.decode("utf-8", "replace")}
        )


def list_documents(source: str | None, model: str | None, *, kind: str | None, output: Format) -> None:
    """Print every document, or those of one model, and what the gateway makes of them.

    Raises:
        Stop: There is none of that model, or the place fails.
    """
    place = open_place(source)
    holding = reached(place.read)
    states = check(holding, (), trusted_signers()).before.entries
    keys = sorted(holding.documents.keys() | holding.faults.keys())
    if not keys:
        typer.echo(f"dna: {place.name} shows no document; Consul shows a token nothing that it may not read", err=True)
    rows = []
    for key in keys:
        entry = states[key]
        if (entry.place is None and model) or (entry.place and not _is_asked(entry.place, model, kind)):
            continue
        held = holding.documents.get(key)
        why = "; ".join(str(fault) for fault in (*entry.faults, *entry.warnings))
        summary = _summary(held) if held else {"key": key, "index": None, "sha256": None, "signed_by": None}
        rows.append({**summary, "state": entry.state.value, "why": why})
    if model is not None and not rows:
        raise Stop(f"no document is of the model {model} in {place.name}; `dna contract get` lists what there is")
    if output is not Format.TABLE:
        print_as(output, rows)
        return
    print_table(
        ("DOCUMENT", "INDEX", "STATE", "SIGNED BY", "WHY"),
        [(row["key"], str(row["index"] or "-"), row["state"], row["signed_by"] or "-", row["why"]) for row in rows],
        bad=("rejected",),
    )


def print_history(source: str | None, key: str, *, show: int | None, output: Format) -> None:
    """Print who wrote a document when and why; with `show`, the text of one entry.

    Raises:
        Stop: Nothing is kept of it.
    """
    entries = _entries(source, key)
    if show is not None:
        _print_entry(_entry(entries, show, key), key, output)
        return
    told = [_told(entry, before) for entry, before in zip(entries, (None, *entries), strict=False)]
    if output is not Format.TABLE:
        print_as(output, told)
        return
    rows = [
        (str(one["number"]), one["at"], one["author"], one["action"], ", ".join(one["fields"]) or "-", one["reason"])
        for one in told
    ]
    print_table(("NUMBER", "AT", "AUTHOR", "DID", "FIELDS", "WHY"), rows)


def _print_entry(entry: Entry, key: str, output: Format) -> None:
    text = entry.text
    if text is None:
        raise Stop(f"entry {entry.number} is the deletion of {key}; there is no text")
    if output is not Format.TABLE:
        members = {"number": entry.number, "at": entry.at, "author": entry.author, "reason": entry.reason}
        print_as(output, {**members, "document": _value(text), "text": text.decode("utf-8", "replace")})
        return
    typer.echo(text.decode("utf-8", "backslashreplace"), nl=not text.endswith(b"\n"))


def rollback(key: str, manner: Manner, *, to: int | None) -> None:
    """Write an earlier text again: of the entry named, else the last one that differs from what lies there.

    Raises:
        Stop: There is no such entry; or as `write_documents`.
    """
    entries = _entries(manner.source, key)

    def propose(holding: Holding) -> Sequence[Change]:
        held = holding.documents.get(key)
        entry = _entry(entries, to, key) if to is not None else _earlier(entries, held, key)
        return [change_to(holding, key, entry.text)]

    reason = manner.reason or (f"rollback to entry {to}" if to is not None else "rollback to the text before")
    write_documents(replace(manner, reason=reason), propose)


def held_document(holding: Holding, key: str) -> Held:
    """Give one document.

    Raises:
        Stop: It is not there, or cannot be read where it lies.
    """
    held = holding.documents.get(key)
    if held is not None:
        return held
    fault = holding.faults.get(key)
    if fault is not None:
        raise Stop(f"{key}: {fault.message}")
    model = parse_key(key).model_id
    near = sorted(other for other in holding.documents if parse_key(other).model_id == model)
    hint = f"of this model there are {', '.join(near)}" if near else "`dna contract get` lists what there is"
    raise Stop(f"there is no {key}; {hint}", FAILED)


def _is_asked(place: DocumentKey, model: str | None, kind: str | None) -> bool:
    return (model is None or place.model_id == model) and (kind is None or place.kind == kind)


def _summary(held: Held) -> dict[str, Any]:
    value = _value(held.text)
    signature = value.get(MEMBER) if isinstance(value, dict) else None
    return {
        "key": held.key,
        "index": held.stamp,
        "sha256": sha256(held.text).hexdigest()[:SHA_SHOWN],
        "signed_by": signature.get("kid") if isinstance(signature, dict) else None,
    }


def _value(text: bytes) -> Any:
    try:
        return read(text).value
    except DocumentRefused:
        return None


def _entries(source: str | None, key: str) -> tuple[Entry, ...]:
    place = open_place(source)
    entries = reached(lambda: place.history(key))
    if not entries:
        why = "no dna command has written it, or the token may not read it"
        raise Stop(f"no history is kept of {key} in {place.name}: {why}")
    return entries


def _entry(entries: Sequence[Entry], number: int, key: str) -> Entry:
    for entry in entries:
        if entry.number == number:
            return entry
    kept = f"{entries[0].number} to {entries[-1].number}"
    raise Stop(f"there is no entry {number} of {key}; kept are {kept}")


def _earlier(entries: Sequence[Entry], held: Held | None, key: str) -> Entry:
    now = held.text if held else None
    for entry in reversed(entries):
        if entry.text != now:
            return entry
    raise Stop(f"no other text of {key} is kept; `dna contract history` shows what is")


def _told(entry: Entry, before: Entry | None) -> dict[str, Any]:
    is_first = before is None and entry.number == 1  # of any other, the entry before may have made room
    is_new = is_first or (before is not None and before.text is None)
    action = "deleted" if entry.text is None else "created" if is_new else "changed"
    compared = differences(before.text, entry.text) if before is not None and action == "changed" else ()
    fields = [one.path or "(whole)" for one in compared]
    return {
        "number": entry.number,
        "at": entry.at,
        "author": entry.author,
        "action": action,
        "fields": fields,
        "reason": entry.reason,
        "sha256": entry.sha,
    }
