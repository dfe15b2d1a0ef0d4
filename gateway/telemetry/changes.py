"""What the control plane reports: each change of state, once, as one value that log, metrics and alerts all read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class ChangeKind(StrEnum):
    """What changed. The words are the `event` of the log line."""

    INSTANCE_REMOVED = "instance_removed"
    INSTANCE_VERIFIED = "instance_verified"
    INSTANCE_READMITTED = "instance_readmitted"
    INSTANCE_UNVERIFIED = "instance_unverified"
    INSTANCE_SUSPECT = "instance_suspect"
    INSTANCE_EJECTED = "instance_ejected"
    INSTANCE_DRIFTED = "instance_drifted"
    """What would eject or suspect it under `enforce`, seen under `observe`."""
    INSTANCE_NOTED = "instance_noted"
    INSTANCE_UP = "instance_up"
    INSTANCE_DOWN = "instance_down"
    INSTANCE_DRAINING = "instance_draining"
    """By an operator's wish: no new requests."""
    INSTANCE_UNDRAINED = "instance_undrained"
    VERSION_SERVED = "version_served"
    VERSION_UNSERVED = "version_unserved"
    VERSION_WITHDRAWN = "version_withdrawn"
    """It was unserved and is not wanted any more."""
    PANIC_BEGAN = "liveness_panic_began"
    PANIC_ENDED = "liveness_panic_ended"
    CANARY_RETURNED = "canary_returned"
    CANARY_SERVING = "canary_serving"
    DOCUMENT_REJECTED = "document_rejected"
    DOCUMENT_MENDED = "document_mended"
    DOCUMENT_MISSING = "document_missing"
    DOCUMENT_FOUND = "document_found"
    DOCUMENT_REMOVED = "document_removed"
    REMOVALS_HELD = "removals_held"
    GENERATION_SWAPPED = "generation_swapped"
    SOURCE_FAILED = "source_failed"
    SOURCE_RECOVERED = "source_recovered"
    CATALOGUE_DOUBTED = "catalogue_doubted"
    """What it lists of a service cannot be taken at its word: the instances known before stay."""
    CATALOGUE_TRUSTED = "catalogue_trusted"
    REGISTRATION_ODD = "registration_odd"
    REGISTRATION_MENDED = "registration_mended"


@dataclass(frozen=True, slots=True)
class Change:
    """One change. Fields that do not apply are empty.

    Attributes:
        kind: What changed.
        generation: The generation in force when it did.
        model_id: The model.
        version: The version, printed with `v`.
        instance: The instance's id, `host:port`.
        key: The document's key, or the file whose name is no key; of the catalogue the service, node and service id.
        reason: Why, in words.
        source: What showed it: `probe`, `response`, `exchange`, `documents` or `catalogue`.
        cause: One word for metrics: where a document failed, how a reading looks like an accident, what is odd.
        dna: What the instance stated.
        digest: What the instance stated.
    """

    kind: ChangeKind
    generation: int
    model_id: str = ""
    version: str = ""
    instance: str = ""
    key: str = ""
    reason: str = ""
    source: str = ""
    cause: str = ""
    dna: str | None = None
    digest: str | None = None


Listener = Callable[[Change], None]
"""Takes each change once. Must not block and must not raise."""


def fan_out(*listeners: Listener) -> Listener:
    """Make one listener that hands each change to all of these, in this order."""

    def tell(change: Change) -> None:
        for listener in listeners:
            listener(change)

    return tell
