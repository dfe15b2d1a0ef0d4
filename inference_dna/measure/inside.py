"""What the inside of a weights file says, as far as others depend on it; one kind of value per storage format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from inference_dna.files import FileEntry


class Inside(Protocol):
    """The structure of one weights file, read without loading a weight and without running anything in it."""

    @property
    def form(self) -> str | None:
        """How weights are stored here, as the genome's `weights.format` names it; None for a file without weights."""

    @property
    def tensors(self) -> frozenset[str] | None:
        """Names of the tensors it holds; None where nobody looked for them."""

    @property
    def code(self) -> tuple[FileEntry, ...]:
        """Programs inside it, each like a file; empty for formats that hold none."""

    def check(self, name: str, parts: Parts) -> None:
        """Judge what the file says about its neighbours.

        Args:
            name: Its name in the model folder.
            parts: All weights files, by name.

        Raises:
            Refused: A neighbour is missing, too short, or says something else.
        """


@dataclass(frozen=True, slots=True)
class Part:
    """One weights file: its size in bytes and its inside, None where its format is not known."""

    size: int
    inside: Inside | None


Parts = Mapping[str, Part]
