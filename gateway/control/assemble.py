"""Texts in, documents in force out: pure, so that every case of a broken, missing or mended document is a table.

Rules of this file (design rule 5):

* One bad document costs itself only: its last good state stays in force, all others are untouched.
* A document leaves only when its source confirmed that it is gone; what is merely not seen stays.
* When more than half of the documents, and more than one, are not seen at once, nothing leaves until the operator
  confirms it: that is what a lost right, an emptied store or a bad mount looks like.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TypeVar

from contracts.contract import Contract, parse_contract
from contracts.document_set import SetFindings, check_set
from contracts.faults import DocumentRefused, Fault
from contracts.key import DocumentKey, DocumentKind, KeyRefused, parse_key
from contracts.route import Route, parse_route
from gateway.control.documents import SHA_SHOWN, Cause, Document, Documents, DocumentState, InForce, Read
from gateway.control.neighbours import neighbours
from gateway.sources.reading import DocumentText, Reading
from inference_dna.trust.keys import TrustedKey


def assemble(previous: Documents, reading: Reading, *, signers: Sequence[TrustedKey] = ()) -> Documents:
    """Take in what a source holds now.

    Args:
        previous: What was in force before.
        reading: Everything the source holds.
        signers: Keys of which one must have signed every document; with none, documents need no signature.

    Returns:
        The documents now; `previous` itself where nothing changed.
    """
    held = _held(previous, reading)
    leaving = reading.gone - held
    entries = {key: entry for key, entry in previous.entries.items() if key not in leaving}
    missing = entries.keys() - reading.documents.keys() - reading.faults.keys()
    for key in missing:
        if entries[key].in_force is None:
            del entries[key]  # nothing of it serves, so there is nothing to protect
        else:
            entries[key] = _missing(entries[key], is_held=key in held)
    for key, fault in reading.faults.items():
        entries[key] = _unreadable(key, fault.origin, fault.message, entries.get(key))
    for key, text in reading.documents.items():
        entries[key] = _read(text, previous.entries.get(key), signers)
    return _put_in_force(previous, entries, frozenset(held & entries.keys()))


def confirm_removal(documents: Documents) -> Documents:
    """Let every missing document go: the operator says that it is gone."""
    staying = {key: entry for key, entry in documents.entries.items() if entry.state is not DocumentState.MISSING}
    return _put_in_force(documents, staying, frozenset())


def _held(previous: Documents, reading: Reading) -> frozenset[str]:
    """Choose the keys whose removal waits. Once held, a key waits until it is seen again or its removal confirmed."""
    serving = {key for key, entry in previous.entries.items() if entry.in_force is not None}
    unseen = serving - reading.documents.keys() - reading.faults.keys()
    if len(unseen) > 1 and 2 * len(unseen) > len(serving):
        return frozenset(unseen & reading.gone) | frozenset(previous.held & unseen)
    return frozenset(previous.held & unseen)


def _missing(entry: Document, *, is_held: bool) -> Document:
    found = "it is not seen any more, and the source does not confirm that it is gone"
    if is_held:
        found = "it is gone together with most other documents"
    words = "its last good state serves until the removal is confirmed: dna contract prune --confirm"
    fault = Fault("", f"{found}; {words}")
    return replace(entry, state=DocumentState.MISSING, faults=(fault,), warnings=(), cause=None, read=None)


def _unreadable(key: str, origin: str, message: str, entry: Document | None) -> Document:
    return Document(
        key,
        _place(key, entry),
        _kind(key),
        origin,
        DocumentState.REJECTED,
        (Fault("", message),),
        cause=Cause.UNREADABLE,
        in_force=entry.in_force if entry else None,
    )


def _read(document: DocumentText, entry: Document | None, signers: Sequence[TrustedKey]) -> Document:
    """Read one text, or keep what reading the same text gave before."""
    if entry is not None and _is_settled(entry, document):
        return entry
    key, origin, in_force = document.key, document.origin, entry.in_force if entry else None
    place = _place(key, entry)
    read = entry.read if entry else None
    if read is None or read.text != document.text or (entry and entry.origin != origin):
        read = _parse(document, place, signers)
    if read.value is None:
        state, faults, cause = DocumentState.REJECTED, read.faults, Cause.INVALID
        return Document(key, place, _kind(key), origin, state, faults, (), cause, in_force, read)
    return Document(key, place, _kind(key), origin, DocumentState.OK, in_force=in_force, read=read)


def _is_settled(entry: Document, document: DocumentText) -> bool:
    """The same text was read before, and nothing but the text decided what became of it."""
    is_same = entry.read is not None and entry.read.text == document.text and entry.origin == document.origin
    return is_same and entry.cause is not Cause.CONFLICT


def _place(key: str, entry: Document | None) -> DocumentKey | None:
    """Parse a key, or keep what parsing it gave before; a file whose name is no key has none."""
    if entry is not None:
        return entry.place
    try:
        return parse_key(key)
    except KeyRefused:
        return None


def _kind(key: str) -> DocumentKind:
    return "route" if key.startswith("routes/") else "contract"


def _parse(document: DocumentText, key: DocumentKey | None, signers: Sequence[TrustedKey]) -> Read:
    sha = hashlib.sha256(document.text).hexdigest()
    parse = parse_route if _kind(document.key) == "route" else parse_contract
    try:
        return Read(document.text, sha, parse(document.text, key=key, name=document.origin, signers=signers))
    except DocumentRefused as refused:
        return Read(document.text, sha, None, refused.faults)
    except Exception as error:  # noqa: BLE001 - a parser's own fault with one document must not cost the others
        return Read(document.text, sha, None, (Fault("", f"cannot be read: {type(error).__name__}: {error}"),))


# the set of all documents ---------------------------------------------------------------------------------------------


def _put_in_force(previous: Documents, entries: dict[str, Document], held: frozenset[str]) -> Documents:
    """Check what changed against what it may concern, and let what passes serve."""
    values = {key: value for key, entry in entries.items() if (value := _candidate(entry)) is not None}
    near = neighbours(_changed(previous.entries, entries, values), values)
    looked_at = {key: entry for key, entry in entries.items() if key in near}
    candidates = {key: value for key, value in values.items() if key in near}
    findings = _settle(looked_at, candidates, previous.tied)
    for key, entry in looked_at.items():
        looked_at[key] = _judged(entry, candidates.get(key), previous.generation + 1)
    _warn(looked_at, candidates, findings)
    entries |= looked_at
    values = {key: candidates.get(key, value) for key, value in values.items() if key in candidates or key not in near}
    contracts = _of_kind(entries, values, Contract)
    still_tied = {place for place in previous.tied if place in contracts and str(place) not in near}
    after = Documents(
        previous.generation + 1,
        MappingProxyType(entries),
        MappingProxyType(contracts),
        MappingProxyType(_of_kind(entries, values, Route)),
        findings.tied | still_tied,
        held,
        _sha(entries),
    )
    if after.sha != previous.sha or after.tied != previous.tied:
        return after
    if after.entries == previous.entries and after.held == previous.held:
        return previous
    return replace(after, generation=previous.generation)


def _changed(
    before: Mapping[str, Document], after: Mapping[str, Document], values: Mapping[str, Contract | Route]
) -> Iterator[Contract | Route]:
    """Give what changed, came or left, as it served and as it would serve now."""
    for key in before.keys() | after.keys():
        was, entry = before.get(key), after.get(key)
        if was is entry:
            continue
        if was is not None and was.in_force is not None:
            yield was.in_force.value
        if key in values:
            yield values[key]


def _warn(entries: dict[str, Document], values: dict[str, Contract | Route], findings: SetFindings) -> None:
    """Note what is odd about what serves: within a document, and between documents."""
    for key, value in values.items():
        entry = entries[key]
        found = findings.warnings.get(entry.place, ()) if entry.place else ()
        warnings = (*value.warnings, *found)
        if warnings != entry.warnings:
            entries[key] = replace(entry, warnings=warnings)


def _candidate(entry: Document) -> Contract | Route | None:
    """Choose what would serve: what the present text says, else the last good state."""
    if entry.read is not None and entry.read.value is not None:
        return entry.read.value
    return entry.in_force.value if entry.in_force else None


def _settle(
    entries: dict[str, Document], values: dict[str, Contract | Route], tied: frozenset[DocumentKey]
) -> SetFindings:
    """Check the set, put what it refuses back to its last good state or out, until nothing new is refused.

    A document that was in force before is in the right against a new one. Those of a tie are not: neither came first.
    """
    while True:
        unchanged = [entry.place for key, entry in entries.items() if entry.place and _serves(entry, values.get(key))]
        findings = check_set(
            _of_kind(entries, values, Contract), _of_kind(entries, values, Route), in_force=set(unchanged) - tied
        )
        if not _put_back(entries, values, findings.refused):
            return findings


def _put_back(
    entries: dict[str, Document],
    values: dict[str, Contract | Route],
    refused: Mapping[DocumentKey, tuple[Fault, ...]],
) -> bool:
    """Put refused documents back to their last good state; say whether there were any that could be."""
    moved = False
    for place, faults in refused.items():
        key = str(place)
        entry = entries[key]
        if _serves(entry, values.get(key)):
            continue  # its last good state itself: it keeps serving, the newcomer is what has to go
        entries[key] = replace(entry, state=DocumentState.REJECTED, faults=faults, cause=Cause.CONFLICT)
        moved = True
        if entry.in_force is None:
            del values[key]
        else:
            values[key] = entry.in_force.value
    return moved


def _serves(entry: Document, value: Contract | Route | None) -> bool:
    return entry.in_force is not None and value is entry.in_force.value


def _judged(entry: Document, value: Contract | Route | None, generation: int) -> Document:
    """Note what is in force of a document now."""
    if value is None:
        return entry
    if _serves(entry, value) or entry.read is None:
        return entry
    return replace(entry, in_force=InForce(value, entry.read.text, entry.read.sha, generation))


Value = TypeVar("Value", Contract, Route)


def _of_kind(
    entries: Mapping[str, Document], values: Mapping[str, Contract | Route], kind: type[Value]
) -> dict[DocumentKey, Value]:
    return {
        place: value
        for key, value in values.items()
        if isinstance(value, kind) and (place := entries[key].place) is not None
    }


def _sha(entries: Mapping[str, Document]) -> str:
    lines = sorted(f"{key} {entry.in_force.sha}\n" for key, entry in entries.items() if entry.in_force is not None)
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:SHA_SHOWN]
