"""Documents as they lie in a place, and changes to them that never overwrite what was not read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

from contracts.key import DocumentKey, parse_key
from gateway.edits.history import Entry, Note
from gateway.sources.listing import Listing
from gateway.sources.reading import DocumentFault


@dataclass(frozen=True, slots=True)
class Held:
    """One document as it lies in its place.

    Attributes:
        key: `contracts/<model_id>/<version>` or `routes/<model_id>`, the version with its `v`.
        text: The bytes, unparsed.
        origin: Consul's whole key, or the path of the file.
        stamp: What another write changes: Consul's ModifyIndex, or the beginning of a file's sha256.
    """

    key: str
    text: bytes
    origin: str
    stamp: str


@dataclass(frozen=True, slots=True)
class Holding:
    """Everything a place holds at one moment; `faults` are documents that cannot be read, by key."""

    documents: Mapping[str, Held]
    faults: Mapping[str, DocumentFault] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Change:
    """One document to write, or with `text` None to delete. `before` is what was read; None: there was none."""

    key: str
    before: Held | None
    text: bytes | None

    @property
    def document(self) -> DocumentKey:
        """The key, parsed."""
        return parse_key(self.key)


class PlaceFailed(Exception):
    """The place cannot be read or written; the message is a sentence that says what to do."""


class Faster(Exception):
    """Somebody changed documents between our reading and our writing; they were not overwritten.

    Args:
        keys: Those documents.
        written: What was written before that, in an earlier transaction, and stays.
    """

    def __init__(self, keys: Sequence[str], written: Sequence[str] = ()) -> None:
        super().__init__(", ".join(keys))
        self.keys = tuple(keys)
        self.written = tuple(written)


class Place(Protocol):
    """Where documents live."""

    @property
    def name(self) -> str:
        """Say where that is, for people; without a secret in it."""
        ...

    @property
    def prefix(self) -> str:
        """Where documents lie in an export of it: `inference/`."""
        ...

    def read(self) -> Holding:
        """Read everything.

        Raises:
            PlaceFailed: It cannot be read.
        """
        ...

    def write(self, changes: Sequence[Change], note: Note) -> None:
        """Write changes in their order, each only where its document is still as it was read.

        Raises:
            Faster: One is not; the changes before it, in an earlier transaction, stay written.
            PlaceFailed: It cannot be written.
        """
        ...

    def listings(self, services: Iterable[str]) -> Mapping[str, Listing]:
        """Read what is registered for services; a place without a catalogue knows none.

        Raises:
            PlaceFailed: It cannot be read.
        """
        ...

    def history(self, key: str) -> tuple[Entry, ...]:
        """Give what is kept of a document, oldest first.

        Raises:
            PlaceFailed: It cannot be read, or this place keeps no history.
        """
        ...
