from __future__ import annotations

from collections.abc import Sequence

import pytest

from worker.backends.equal_batches import LENGTHS, SIZE, Batch, batches, equal_sizes

IDS = range(5, 50)


def by_content(batch: Sequence[Sequence[int]], length: int) -> list[list[float]]:
    return [[float(sum(ids)), float(length)] for ids in batch]


def by_place(batch: Sequence[Sequence[int]], length: int) -> list[list[float]]:
    """A kernel that adds the rows of a longer batch in another order."""
    return [[sum(ids) + place * 1e-7] for place, ids in enumerate(batch)]


def by_neighbours(batch: Sequence[Sequence[int]], length: int) -> list[list[float]]:
    return [[sum(ids) + sum(map(len, batch)) * 1e-7] for ids in batch]


def test_a_model_whose_scores_depend_on_the_text_alone_may_share_batches() -> None:
    assert equal_sizes(by_content, IDS) == dict.fromkeys(LENGTHS, SIZE)


@pytest.mark.parametrize("scores", [by_place, by_neighbours])
def test_a_model_whose_scores_depend_on_the_batch_computes_each_text_alone(scores: object) -> None:
    assert equal_sizes(scores, IDS) == dict.fromkeys(LENGTHS, 1)  # type: ignore[arg-type]


def test_each_text_gets_the_shape_that_its_own_length_decides() -> None:
    sizes = {8: SIZE, 16: 1, 32: SIZE, 64: SIZE}

    split = list(batches([3, 8, 9, 100, 1, 2, 16, 5], sizes))

    assert split == [
        Batch((0, 1, 4, 5), SIZE, 8),
        Batch((7,), SIZE, 8),
        Batch((2,), 1, 16),
        Batch((6,), 1, 16),
        Batch((3,), 1, 100),
    ]


def test_a_batch_that_is_not_full_is_filled_with_copies() -> None:
    assert Batch((1,), 4, 8).rows([[1], [2]]) == [[2], [2], [2], [2]]
