from __future__ import annotations

import pytest

from worker.demo.ngrams import MULTIPLIERS, features

ONE, TWO, THREE = MULTIPLIERS


@pytest.mark.parametrize(
    ("ids", "ngrams", "rows"),
    [
        pytest.param([2, 5, 3], 1, [2, 5, 3], id="tokens-alone"),
        pytest.param(
            [2, 5, 3],
            2,
            [2, 5, 3, 100 + (2 * ONE + 5 * TWO) % 64, 100 + (5 * ONE + 3 * TWO) % 64],
            id="pairs-behind-the-vocabulary",
        ),
        pytest.param([2, 3], 3, [2, 3, 100 + (2 * ONE + 3 * TWO) % 64], id="too-short-for-three"),
        pytest.param([], 2, [], id="nothing"),
    ],
)
def test_rows(ids: list[int], ngrams: int, rows: list[int]) -> None:
    assert features(ids, vocabulary=100, ngrams=ngrams, buckets=64) == rows


def test_the_order_of_a_pair_counts() -> None:
    assert (
        features([4, 9], vocabulary=100, ngrams=2, buckets=64)[2]
        != features([9, 4], vocabulary=100, ngrams=2, buckets=64)[2]
    )
