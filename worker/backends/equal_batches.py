"""Batches in which each text gets the very numbers that it gets alone.

Libraries choose kernels by shape, and another kernel adds in another order: one text alone and the same text among four
get scores that differ in their last bits. So a text is always computed in one shape, which its own length decides:
filled up to a step of tokens, in a batch of `SIZE`, whose other places are other requests or copies of itself. Whether
place and neighbours really change nothing is tried at the start for every step; where they do, it is computed alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

Ids = Sequence[int]
Scores = Callable[[Sequence[Ids], int], Sequence[Sequence[float]]]
"""Scores of texts that are computed in one batch, each filled up to a length in tokens."""

LENGTHS = (8, 16, 32, 64)
"""Steps in tokens; a longer text is computed alone and is not filled up."""
SIZE = 4


@dataclass(frozen=True, slots=True)
class Batch:
    """One computation. `places` are those of its texts; the batch has `size` rows of `length` tokens."""

    places: tuple[int, ...]
    size: int
    length: int

    def rows(self, texts: Sequence[Ids]) -> list[Ids]:
        """The texts, and copies of the first one where the batch is not full."""
        rows = [texts[place] for place in self.places]
        return rows + rows[:1] * (self.size - len(rows))


def equal_sizes(scores: Scores, vocabulary: Sequence[int]) -> Mapping[int, int]:
    """Find out by step how many texts one batch may have.

    Args:
        scores: The model.
        vocabulary: Ids that texts may be made of.

    Returns:
        `SIZE` where a text gets the same scores at every place and beside any neighbours, else 1.
    """
    return MappingProxyType({step: SIZE if _is_equal(scores, step, vocabulary) else 1 for step in LENGTHS})


def batches(lengths: Sequence[int], sizes: Mapping[int, int]) -> Iterator[Batch]:
    """Split texts into batches, each text into the shape that its own length decides.

    Args:
        lengths: Of the texts, in tokens.
        sizes: As `equal_sizes` gives them.
    """
    by_step: dict[int, list[int]] = {}
    for place, length in enumerate(lengths):
        by_step.setdefault(next((step for step in LENGTHS if length <= step), length), []).append(place)
    for step, places in by_step.items():
        size = sizes.get(step, 1)
        for start in range(0, len(places), size):
            yield Batch(tuple(places[start : start + size]), size, step)


def _is_equal(scores: Scores, step: int, vocabulary: Sequence[int]) -> bool:
    texts = list(_texts(step, vocabulary))
    alone = [list(scores([text] * SIZE, step)[0]) for text in texts]
    for turn in range(len(texts)):
        turned = [(turn + place) % len(texts) for place in range(SIZE)]
        together = scores([texts[number] for number in turned], step)
        if [list(row) for row in together] != [alone[number] for number in turned]:
            return False
    return True


def _texts(step: int, vocabulary: Sequence[int]) -> Iterator[list[int]]:
    for place in range(SIZE + 1):
        length = step - place * (step // 2) // SIZE
        yield [vocabulary[(place * 7 + number * 3) % len(vocabulary)] for number in range(length)]
