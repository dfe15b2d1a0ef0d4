from __future__ import annotations

import pytest

from worker.demo.merges import learn_merges


def test_the_most_frequent_pair_is_merged_first() -> None:
    vocabulary, merges = learn_merges(["low", "low", "lot", "new"], size=9, special=["[PAD]"])

    assert merges == [("l", "##o"), ("lo", "##w")]
    assert vocabulary == {
        "[PAD]": 0, "##e": 1, "##o": 2, "##t": 3, "##w": 4, "l": 5, "n": 6, "lo": 7, "low": 8,
    }  # fmt: skip


def test_of_equally_frequent_pairs_the_first_by_letter_is_merged() -> None:
    words = ["xy", "ab", "xy", "ab"]

    assert (
        learn_merges(words, size=5, special=[])[1] == learn_merges(words[::-1], size=5, special=[])[1] == [("a", "##b")]
    )


@pytest.mark.parametrize(
    ("words", "merges"),
    [
        pytest.param(["ab"], [], id="a-pair-that-stands-once-is-left-alone"),
        pytest.param(["a", "a"], [], id="a-word-of-one-letter-has-no-pair"),
        pytest.param(["aaaa"], [("##a", "##a")], id="a-repeated-letter-is-merged-from-the-left"),
        pytest.param([], [], id="no-word"),
    ],
)
def test_merging_ends_where_no_pair_stands_twice(words: list[str], merges: list[tuple[str, str]]) -> None:
    assert learn_merges(words, size=100, special=[])[1] == merges


def test_more_letters_than_the_size_are_all_kept() -> None:
    assert len(learn_merges(["abc", "abc"], size=1, special=["[PAD]"])[0]) == 4
