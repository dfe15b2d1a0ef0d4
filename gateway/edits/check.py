"""What the gateway would make of changed documents, said before they are written, by its own `assemble`. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from contracts.faults import Fault
from gateway.control.assemble import assemble
from gateway.control.documents import NO_DOCUMENTS, Documents, DocumentState
from gateway.edits.place import Change, Held, Holding
from gateway.sources.reading import DocumentText, Reading
from inference_dna.trust.keys import TrustedKey


@dataclass(frozen=True, slots=True)
class Found:
    """One fault or warning of one document."""

    key: str
    fault: Fault


@dataclass(frozen=True, slots=True)
class Checked:
    """The documents in force before and after a change, and what is wrong with it.

    Attributes:
        before: What a gateway makes of what lies there now.
        after: What it would make of it with the changes.
        refused: Faults of changed documents, and those that a change brings upon others.
        warnings: Of changed documents.
    """

    before: Documents
    after: Documents
    refused: tuple[Found, ...]
    warnings: tuple[Found, ...]


def check(holding: Holding, changes: Sequence[Change], signers: Sequence[TrustedKey]) -> Checked:
    """Try changes out.

    Args:
        holding: What lies there now.
        changes: What would be written.
        signers: Keys of which one must have signed, where documents have to be signed.
    """
    texts = {key: _text(held) for key, held in holding.documents.items()}
    before = assemble(NO_DOCUMENTS, Reading(texts, faults=holding.faults), signers=signers)
    changed = {change.key: _written(change) for change in changes if change.text is not None}
    deleted = frozenset(change.key for change in changes if change.text is None)
    kept = {key: text for key, text in texts.items() if key not in deleted}
    faults = {key: fault for key, fault in holding.faults.items() if key not in changed and key not in deleted}
    after = assemble(before, Reading({**kept, **changed}, deleted, faults), signers=signers)
    keys = {change.key for change in changes}
    return Checked(before, after, tuple(_refused(before, after, keys)), tuple(_warned(after, keys)))


def _text(held: Held) -> DocumentText:
    return DocumentText(held.key, held.text, held.origin)


def _written(change: Change) -> DocumentText:
    origin = change.before.origin if change.before else change.key
    return DocumentText(change.key, change.text or b"", origin)


def _refused(before: Documents, after: Documents, changed: set[str]) -> list[Found]:
    found = []
    for key, entry in after.entries.items():
        old = before.entries.get(key)
        is_old_trouble = key not in changed and old is not None and old.state is entry.state
        if entry.state is DocumentState.REJECTED and not is_old_trouble:
            found += [Found(key, fault) for fault in entry.faults if fault.severity == "error"]
    return found


def _warned(after: Documents, changed: set[str]) -> list[Found]:
    found = []
    for key in sorted(changed & after.entries.keys()):
        entry = after.entries[key]
        told = entry.faults if entry.state is DocumentState.MISSING else entry.warnings
        found += [Found(key, fault) for fault in told]
    return found
