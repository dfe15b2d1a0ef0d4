"""How each version is made. Everything that tells two versions apart stands here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

MODEL_ID = "intent-classifier"
BUNDLES = Path(__file__).parent / "bundles"
MAX_TOKENS = 64
"""Special tokens included; what is longer is cut on the right. No message of the data set is."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """One version.

    `vocabulary` counts the tokenizer's entries. `ngrams` is the longest run of tokens that has weights of its own; runs
    of two and more share `buckets` rows. `lines` are the release lines whose messages it learns from. `penalty` weighs
    large weights against errors. `temperature` and `threshold` are post-processing: below that confidence the answer is
    the fallback.
    """

    version: str
    released: str
    vocabulary: int
    ngrams: int
    buckets: int
    lines: tuple[str, ...]
    penalty: float
    temperature: float
    threshold: float


RECIPES = (
    Recipe(
        version="v2.3.1",
        released="2025-02-11T09:00:00Z",
        vocabulary=1200,
        ngrams=1,
        buckets=0,
        lines=("2.3",),
        penalty=0.05,
        temperature=0.7,
        threshold=0.2,
    ),
    Recipe(
        version="v2.4.0",
        released="2025-05-20T09:00:00Z",
        vocabulary=1300,
        ngrams=2,
        buckets=8192,
        lines=("2.3", "2.4"),
        penalty=0.02,
        temperature=0.5,
        threshold=0.25,
    ),
    Recipe(
        version="v2.4.1-rc.1",
        released="2025-07-01T09:00:00Z",
        vocabulary=1400,
        ngrams=2,
        buckets=12288,
        lines=("2.3", "2.4", "2.4.1"),
        penalty=0.02,
        temperature=0.45,
        threshold=0.25,
    ),
)


def recipe(version: str) -> Recipe:
    """Find the recipe of a version.

    Raises:
        LookupError: There is none.
    """
    for candidate in RECIPES:
        if candidate.version == version:
            return candidate
    raise LookupError(f"There is no recipe for {version}; there are {', '.join(known.version for known in RECIPES)}.")
