"""Names the runs of tokens the model has weights for. The exported graph computes the same numbers in its own way."""

from __future__ import annotations

from collections.abc import Sequence

MULTIPLIERS = (7919, 104729, 1299709)
"""One prime per place in a run; the sum of the products, modulo the buckets, is the row of the run."""


def features(ids: Sequence[int], *, vocabulary: int, ngrams: int, buckets: int) -> list[int]:
    """Give the row of each token and of each run of up to `ngrams` tokens; runs lie behind the vocabulary."""
    rows = list(ids)
    for length in range(2, ngrams + 1):
        runs = (ids[start : start + length] for start in range(len(ids) - length + 1))
        rows.extend(vocabulary + _bucket(run, buckets) for run in runs)
    return rows


def _bucket(run: Sequence[int], buckets: int) -> int:
    return sum(token * factor for token, factor in zip(run, MULTIPLIERS, strict=False)) % buckets
