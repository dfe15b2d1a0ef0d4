"""Two states of one thing in, what changed out: pure, so that each change is told exactly once."""

from __future__ import annotations

from collections.abc import Iterator

from contracts.terms import Enforcement
from gateway.control.catalogue import Choice
from gateway.control.documents import Document, Documents, DocumentState
from gateway.control.oddities import RegistrationFault
from gateway.control.standing import Tracked
from gateway.health.identity import Identity
from gateway.health.liveness import DownBy, Liveness
from gateway.telemetry.changes import Change, ChangeKind

_IDENTITY = {
    Identity.UNVERIFIED: ChangeKind.INSTANCE_UNVERIFIED,
    Identity.SUSPECT: ChangeKind.INSTANCE_SUSPECT,
    Identity.EJECTED: ChangeKind.INSTANCE_EJECTED,
}
_DOUBTED = {Identity.EJECTED, Identity.SUSPECT}


def instance_changes(before: Tracked, after: Tracked, *, source: str, generation: int) -> Iterator[Change]:
    """Tell what one observation changed of an instance; `source` says what was observed."""
    if before.identity.identity is not after.identity.identity or _is_enforced_now(before, after):
        yield _about(_identity_kind(before, after), after, after.identity.reason, source, generation)
    if _is_down(before) and not _is_down(after):
        yield _about(ChangeKind.INSTANCE_UP, after, "", source, generation)
    # A new instance counts as down before anything is known; that it is found down is news all the same.
    if _is_known_down(after) and not _is_known_down(before):
        yield _about(ChangeKind.INSTANCE_DOWN, after, after.liveness.cause, source, generation)
    if before.draining != after.draining:
        kind = ChangeKind.INSTANCE_DRAINING if after.draining else ChangeKind.INSTANCE_UNDRAINED
        yield _about(kind, after, after.draining, source, generation)


def _identity_kind(before: Tracked, after: Tracked) -> ChangeKind:
    if after.identity.identity is Identity.VERIFIED:
        returns = before.identity.identity in _DOUBTED
        return ChangeKind.INSTANCE_READMITTED if returns else ChangeKind.INSTANCE_VERIFIED
    if after.contract.enforcement is Enforcement.OBSERVE and after.identity.identity in _DOUBTED:
        return ChangeKind.INSTANCE_DRIFTED  # it keeps serving: saying that it was ejected would be a lie
    return _IDENTITY[after.identity.identity]


def _is_enforced_now(before: Tracked, after: Tracked) -> bool:
    """A doubt that was only watched takes the instance out now that the contract enforces."""
    was_watched = before.contract.enforcement is Enforcement.OBSERVE
    enforces = after.contract.enforcement is Enforcement.ENFORCE
    return was_watched and enforces and after.identity.identity in _DOUBTED


def _is_down(one: Tracked) -> bool:
    return one.liveness.liveness is Liveness.DOWN


def _is_known_down(one: Tracked) -> bool:
    return _is_down(one) and one.liveness.down_by is not DownBy.NEW


def instance_noted(one: Tracked, note: str, *, source: str, generation: int) -> Change:
    """Tell that a matching instance stamps something wrongly; it keeps serving, the digest decides."""
    return _about(ChangeKind.INSTANCE_NOTED, one, note.replace("_", " "), source, generation)


def instance_gone(one: Tracked, *, source: str, generation: int) -> Change:
    """Tell that an instance left the documents, or the catalogue."""
    return _about(ChangeKind.INSTANCE_REMOVED, one, "", source, generation)


def _about(kind: ChangeKind, one: Tracked, reason: str, source: str, generation: int) -> Change:
    return Change(
        kind,
        generation,
        model_id=one.instance.model_id,
        version=str(one.instance.version),
        instance=one.instance.id,
        reason=reason,
        source=source,
        dna=one.identity.dna,
        digest=one.identity.digest,
    )


# the catalogue --------------------------------------------------------------------------------------------------------


def catalogue_changes(before: Choice, after: Choice, *, generation: int) -> Iterator[Change]:
    """Tell which services cannot be taken at their word now, and which registrations became odd or were mended."""
    for service in before.listings.keys() | after.listings.keys():
        was, now = _problem(before, service), _problem(after, service)
        if bool(was) != bool(now):  # while it is doubted the words may change with every attempt
            kind = ChangeKind.CATALOGUE_DOUBTED if now else ChangeKind.CATALOGUE_TRUSTED
            yield Change(kind, generation, key=service, reason=now, source="catalogue")
    for fault in set(after.faults) - set(before.faults):
        yield _of_registration(ChangeKind.REGISTRATION_ODD, fault, fault.message, generation)
    odd = {_named(fault) for fault in after.faults}
    for mended in {_named(fault): fault for fault in before.faults if _named(fault) not in odd}.values():
        yield _of_registration(ChangeKind.REGISTRATION_MENDED, mended, "", generation)


def _problem(choice: Choice, service: str) -> str:
    listing = choice.listings.get(service)
    return listing.problem if listing else ""


def _named(fault: RegistrationFault) -> str:
    return f"{fault.service}/{fault.registration}"


def _of_registration(kind: ChangeKind, fault: RegistrationFault, reason: str, generation: int) -> Change:
    return Change(
        kind,
        generation,
        key=_named(fault),
        instance=fault.shown,
        reason=reason,
        source="catalogue",
        cause=fault.oddity.value,
    )


# documents ------------------------------------------------------------------------------------------------------------


def document_changes(before: Documents, after: Documents) -> Iterator[Change]:
    """Tell what became of each document between two assemblies."""
    for key, entry in after.entries.items():
        was = before.entries.get(key)
        if was is not entry and was != entry:
            yield from _document_change(was, entry, after.generation)
    for key in before.entries.keys() - after.entries.keys():
        yield _of_document(ChangeKind.DOCUMENT_REMOVED, before.entries[key], "", after.generation)
    newly_held = after.held - before.held
    if newly_held:
        reason = f"{len(after.held)} documents are gone at once and keep serving: dna contract prune --confirm"
        cause = "empty" if len(after.held) == len(after.contracts) + len(after.routes) else "shorter"
        yield Change(ChangeKind.REMOVALS_HELD, after.generation, reason=reason, source="documents", cause=cause)
    if after.generation != before.generation:
        reason = f"{_some(len(after.contracts), 'contract')}, {_some(len(after.routes), 'route')}"
        yield Change(ChangeKind.GENERATION_SWAPPED, after.generation, reason=reason, source="documents")


def _some(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _document_change(was: Document | None, entry: Document, generation: int) -> Iterator[Change]:
    reason = "; ".join(map(str, entry.faults))
    match entry.state:
        case DocumentState.REJECTED if was is None or was.faults != entry.faults:
            yield _of_document(ChangeKind.DOCUMENT_REJECTED, entry, reason, generation)
        case DocumentState.MISSING if was is None or was.state is not DocumentState.MISSING:
            yield _of_document(ChangeKind.DOCUMENT_MISSING, entry, reason, generation)
        case DocumentState.OK if was is not None and was.state is DocumentState.REJECTED:
            yield _of_document(ChangeKind.DOCUMENT_MENDED, entry, "", generation)
        case DocumentState.OK if was is not None and was.state is DocumentState.MISSING:
            yield _of_document(ChangeKind.DOCUMENT_FOUND, entry, "", generation)
        case _:
            return


def _of_document(kind: ChangeKind, entry: Document, reason: str, generation: int) -> Change:
    model_id = entry.place.model_id if entry.place else ""
    version = str(entry.place.version) if entry.place and entry.place.version else ""
    return Change(
        kind,
        generation,
        model_id=model_id,
        version=version,
        key=entry.key,
        reason=reason,
        source="documents",
        cause=entry.cause.value if entry.cause else "",
    )
