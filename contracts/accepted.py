"""What a contract accepts: one entry per allowed stack (design section 6, dna.md section 10)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, model_validator

from contracts.faults import Fault, Misfit, quoted
from contracts.field_types import Text, reads, shaped
from inference_dna.digest import ALGORITHM, parse_digest
from inference_dna.dna import RUNTIME_LENGTH, parse_dna, strand

_NAMED_DIGEST = re.compile(r"([a-z0-9-]+):[0-9a-f]+")


def _digest(text: str) -> str:
    named = _NAMED_DIGEST.fullmatch(text)
    if named and named[1] + ":" != ALGORITHM:
        raise ValueError(f"the digest name {quoted(named[1])} is of a format that is not known here; known is sha256.")
    parse_digest(text)
    return text


DnaText: TypeAlias = Annotated[str, reads(parse_dna), shaped("[0-9a-f]{16}", "A DNA with the empty input hash.")]
DigestText: TypeAlias = Annotated[str, reads(_digest), shaped("sha256:[0-9a-f]{64}", "A runtime digest.")]


class AcceptedDna(BaseModel):
    """One accepted runtime: its DNA as `/healthz` reports it, its runtime digest, or both."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dna: DnaText | None = None
    digest: DigestText | None = None
    label: Text | None = None
    """For people: which stack this is."""

    @property
    def first8(self) -> str | None:
        """The characters of the DNA that name the runtime."""
        return self.dna[:RUNTIME_LENGTH] if self.dna else None

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> AcceptedDna:
        if self.digest is None and self.dna is None:
            raise ValueError("an accepted runtime needs a dna, a digest, or both.")
        if self.digest and self.dna:
            follows = strand(parse_digest(self.digest), "")
            if self.dna[RUNTIME_LENGTH:] != follows:
                # Entries are copied from `/healthz`: one with a strand is of another digest, or of some request.
                words = f"{quoted(self.dna)} does not belong to the digest: its last 8 characters must be {follows}."
                raise Misfit([Fault("/dna", words)])
        return self


@dataclass(frozen=True, slots=True)
class Accepted:
    """The entries of one contract in the form that a verdict needs per answer."""

    first8_of: Mapping[str, str | None]
    """By digest as it is written (`sha256:...`), the first 8 characters of its DNA where the entry has one."""
    labels: frozenset[str]
    """The first 8 characters of every accepted DNA."""

    @classmethod
    def of(cls, entries: Iterable[AcceptedDna]) -> Accepted:
        """Arrange the entries of a contract."""
        kept = tuple(entries)
        return cls(
            {entry.digest: entry.first8 for entry in kept if entry.digest},
            frozenset(entry.first8 for entry in kept if entry.first8),
        )
