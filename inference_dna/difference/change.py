"""One thing that two genomes hold differently, and how it is told to a person."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from inference_dna.canonical import Json
from inference_dna.shown import printable, shown


class Kind(StrEnum):
    """What it is that differs."""

    FILE = "file"
    TENSORS = "tensors"
    TOKENS = "tokens"
    SETTING = "setting"
    VERSION = "version"


class How(StrEnum):
    """How it differs."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    RENAMED = "renamed"
    REPACKAGED = "repackaged"


@dataclass(frozen=True, slots=True)
class Change:
    """One difference.

    `name` is a file's name, or the path of a member within its section, `packages.torch`. `before` and `after` are None
    where that side has nothing. `detail` is a sentence part that a person needs beside both, empty where there is none.
    """

    kind: Kind
    how: How
    name: str
    before: Json = None
    after: Json = None
    detail: str = ""

    def document(self) -> dict[str, Json]:
        """The change as JSON; what a side does not have is null."""
        return {
            "kind": self.kind.value,
            "how": self.how.value,
            "name": self.name,
            "before": self.before,
            "after": self.after,
            "detail": self.detail,
        }

    def sentence(self) -> str:
        """The change on one line, without the section's name."""
        return printable(f"{self.name} {self._told()}" + (f" ({self.detail})" if self.detail else ""))

    def _told(self) -> str:
        if self.kind is Kind.FILE:
            return f"{self.how.value} to {self.after}" if self.how is How.RENAMED else self.how.value
        if self.kind is Kind.TOKENS:
            return self.how.value
        if self.how is How.ADDED:
            return f"added: {shown(self.after)}"
        if self.how is How.REMOVED:
            return f"removed, was {shown(self.before)}"
        return f"{shown(self.before)} -> {shown(self.after)}"
