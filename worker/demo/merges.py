"""Learns byte-pair merges. The library's own trainer breaks ties by the order of a hash map: no two runs agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

CONTINUING = "##"
"""Begins each token that does not begin a word."""

_LEAST_COUNT = 2

Pair = tuple[str, str]


def learn_merges(words: Iterable[str], *, size: int, special: Sequence[str]) -> tuple[dict[str, int], list[Pair]]:
    """Learn a vocabulary.

    Args:
        words: Every word of every text, normalised, as often as it stands there.
        size: Entries wanted; fewer come out where no pair stands twice, more where the characters alone are more.
        special: Tokens that are never merged; they get the first ids.

    Returns:
        Ids by token, and the pairs in the order they are merged.
    """
    counts = Counter(words)
    spelled = {word: _characters(word) for word in sorted(counts)}
    alphabet = sorted({token for tokens in spelled.values() for token in tokens})
    vocabulary = {token: number for number, token in enumerate([*special, *alphabet])}
    merges: list[Pair] = []
    while len(vocabulary) < size:
        pair = _most_frequent(spelled, counts)
        if pair is None:
            break
        merges.append(pair)
        vocabulary.setdefault(_joined(pair), len(vocabulary))
        spelled = {word: _merge(tokens, pair) for word, tokens in spelled.items()}
    return vocabulary, merges


def _characters(word: str) -> list[str]:
    return [word[0], *(CONTINUING + character for character in word[1:])]


def _most_frequent(spelled: Mapping[str, Sequence[str]], counts: Mapping[str, int]) -> Pair | None:
    pairs: Counter[Pair] = Counter()
    for word, tokens in spelled.items():
        for pair in pairwise(tokens):
            pairs[pair] += counts[word]
    # Of equally frequent pairs the first in the order of the letters: never the first that happened to be counted.
    best = min(pairs, key=lambda pair: (-pairs[pair], pair), default=None)
    return best if best is not None and pairs[best] >= _LEAST_COUNT else None


def _merge(tokens: Sequence[str], pair: Pair) -> list[str]:
    merged: list[str] = []
    for token in tokens:
        if merged and (merged[-1], token) == pair:
            merged[-1] = _joined(pair)
        else:
            merged.append(token)
    return merged


def _joined(pair: Pair) -> str:
    return pair[0] + pair[1].removeprefix(CONTINUING)
