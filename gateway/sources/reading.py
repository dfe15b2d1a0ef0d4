"""What a source of documents says when it is read, and the one interface every source has.

The rule behind every field: a document counts as gone only when its own key was looked up alone, in a source that
answers, and is not there. Everything else that is not in `documents` is merely not seen, and its last good state
stays in force.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol


@dataclass(frozen=True, slots=True)
class DocumentText:
    """One document as it was read; a source hands out the same object for as long as the text stands.

    Attributes:
        key: `contracts/<model_id>/<version>` or `routes/<model_id>`, the version with its `v`.
        text: The bytes, unparsed.
        origin: Where people find it: a path under the source's folder, or the key itself.
    """

    key: str
    text: bytes
    origin: str


@dataclass(frozen=True, slots=True)
class DocumentFault:
    """Why one document could not be read, as a sentence; its last good state stays."""

    origin: str
    message: str


def _nothing() -> Mapping[str, DocumentFault]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything a source holds at one moment.

    Attributes:
        documents: By key, all that could be read.
        gone: Keys confirmed absent, each looked up alone.
        faults: By key, or by origin where the name is no key: why a document could not be read.
        problems: What is wrong with the source itself, one sentence each.
        ok: The source answered. False: nothing that is missing from `documents` may be taken for gone.
        kept_at: Where a copy stands in for the source: the epoch second at which it was last confirmed.
    """

    documents: Mapping[str, DocumentText]
    gone: frozenset[str] = frozenset()
    faults: Mapping[str, DocumentFault] = field(default_factory=_nothing)
    problems: tuple[str, ...] = ()
    ok: bool = True
    kept_at: float | None = None


class Source(Protocol):
    """Where documents come from."""

    @property
    def kind(self) -> str:
        """One word for metrics: `files`, `consul`."""
        ...

    @property
    def place(self) -> str:
        """Say where documents come from, for people; without a secret in it."""
        ...

    async def read(self) -> Reading:
        """Wait until it is time to look, then say what is there; the first call looks at once.

        The same object as before means that nothing changed. Never raises for what a source can do wrong: that is
        `faults` and `problems`.
        """
        ...

    def forget(self, keys: Collection[str]) -> None:
        """Stop missing these documents: the operator confirmed that they are gone."""
        ...
