"""The table a refused worker prints: section, promised, measured, what it means, and below each what differs in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inference_dna.shown import printable

_HEADING = ("SECTION", "PROMISED", "MEASURED", "WHAT IT MEANS")


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that is not as promised; `details` are lines below it.

    `is_proven` is false where it may be as promised: the manifest was made without asking.
    """

    section: str
    promised: str
    measured: str
    means: str
    details: tuple[str, ...] = ()
    is_proven: bool = True

    @property
    def cells(self) -> tuple[str, ...]:
        """The row as it stands under the heading."""
        return self.section, self.promised, self.measured, self.means


def table(rows: Sequence[Row]) -> str:
    """Write the table; every line ends in LF, nothing is cut."""
    return "".join(f"{printable(line)}\n" for line in _lines(rows))


def _lines(rows: Sequence[Row]) -> Iterator[str]:
    cells = [_HEADING, *(row.cells for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    yield _aligned(_HEADING, widths)
    for row in rows:
        yield _aligned(row.cells, widths)
        yield from (f"    {detail}" for detail in row.details)


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
