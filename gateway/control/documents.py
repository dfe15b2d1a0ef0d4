"""The documents in force and the state of every document that is known: frozen values, made by `assemble`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from types import MappingProxyType

from contracts.contract import Contract
from contracts.faults import Fault
from contracts.key import DocumentKey, DocumentKind
from contracts.route import Route

SHA_SHOWN = 12
"""So many hex of a hash people see."""


class DocumentState(StrEnum):
    """What became of a document as it lies in the source now."""

    OK = "ok"
    REJECTED = "rejected"
    MISSING = "missing"
    """It was there and is not seen now; it is not confirmed gone, or its removal waits for the operator."""


class Cause(StrEnum):
    """Where a document failed; a label of the metric."""

    UNREADABLE = "unreadable"
    INVALID = "invalid"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True)
class InForce:
    """A document that serves.

    Attributes:
        value: The contract or route.
        text: Its bytes, unparsed.
        sha: sha256 of its text, 64 hex; people see the first 12.
        generation: The generation it came into force with.
    """

    value: Contract | Route
    text: bytes
    sha: str
    generation: int


@dataclass(frozen=True, slots=True)
class Read:
    """The outcome of reading one text, kept so that the same text is not read again."""

    text: bytes
    sha: str
    value: Contract | Route | None
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """One document: as it lies in the source, and what of it is in force.

    Attributes:
        key: Its key; for a file whose name is no key, its path.
        place: The key parsed; None for a file whose name is no key.
        kind: `contract` or `route`.
        origin: Where people find it.
        state: What became of it.
        faults: Why it is rejected or missing.
        warnings: What is odd and accepted.
        cause: Where it failed; None unless rejected.
        in_force: Its last good state; None where it never had one.
        read: What its present text says; None where there is no text.
    """

    key: str
    place: DocumentKey | None
    kind: DocumentKind
    origin: str
    state: DocumentState
    faults: tuple[Fault, ...] = ()
    warnings: tuple[Fault, ...] = ()
    cause: Cause | None = None
    in_force: InForce | None = None
    read: Read | None = None


def _empty() -> MappingProxyType[str, Document]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Documents:
    """Everything known of the documents at one moment.

    Attributes:
        generation: Grows by one whenever a document in force changes, comes or goes.
        entries: Every known document, by key.
        contracts: Those in force.
        routes: Those in force.
        tied: Contracts that differ from another only in build metadata, neither of which came first.
        held: Keys confirmed absent whose removal waits for the operator (design rule 5).
        sha: 12 hex over the documents in force; equal on every gateway that serves the same ones.
    """

    generation: int = 0
    entries: Mapping[str, Document] = field(default_factory=_empty)
    contracts: Mapping[DocumentKey, Contract] = field(default_factory=lambda: MappingProxyType({}))
    routes: Mapping[DocumentKey, Route] = field(default_factory=lambda: MappingProxyType({}))
    tied: frozenset[DocumentKey] = frozenset()
    held: frozenset[str] = frozenset()
    sha: str = sha256().hexdigest()[:SHA_SHOWN]


NO_DOCUMENTS = Documents()
