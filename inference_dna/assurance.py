"""How far a measurement reaches (dna.md section 9)."""

from __future__ import annotations

from enum import StrEnum


class Assurance(StrEnum):
    """Levels from the weakest to the strongest; the order of the members is the order of the levels."""

    DECLARED = "declared"
    LABEL = "label"
    STAT_CACHED = "stat-cached"
    SAMPLED = "sampled"
    FULL_HASH = "full-hash"
    FS_VERITY = "fs-verity"
    GPU_CHECKSUM = "gpu-checksum"
    ATTESTED = "attested"

    @property
    def rank(self) -> int:
        """0 for the weakest level, 7 for the strongest."""
        return _RANKS[self]


_RANKS = {level: rank for rank, level in enumerate(Assurance)}


def weaker(a: Assurance, b: Assurance) -> Assurance:
    """Return the weaker of two levels."""
    return min(a, b, key=_RANKS.__getitem__)
