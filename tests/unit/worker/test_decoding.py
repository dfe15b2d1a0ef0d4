from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from worker.decoding import answer
from worker.generation import Ended, GenerationRequest, Settings, Token


def letters(ids: Sequence[int]) -> str:
    return "".join(map(chr, ids))


class Model:
    """Says a text, letter by letter, and counts how often it was asked."""

    def __init__(self, text: str) -> None:
        self.text, self.asked = text, 0

    def tokens(self) -> Iterator[int]:
        for letter in self.text:
            self.asked += 1
            yield ord(letter)


def items(model: Model, *, cancelled_after: int = 99, end: str = "", **settings: object) -> list[Token | Ended]:
    request = GenerationRequest((1, 2, 3), Settings(**settings))  # type: ignore[arg-type]
    return list(
        answer(
            model.tokens(),
            request,
            decode=letters,
            end_ids=set(map(ord, end)),
            cancelled=lambda: model.asked >= cancelled_after,
        )
    )


@pytest.mark.parametrize(
    ("told", "texts", "ended"),
    [
        pytest.param({"max_new_tokens": 2}, ["a", "b"], Ended("length", 3, 2), id="length"),
        pytest.param({"end": "c"}, ["a", "b", ""], Ended("stop", 3, 3), id="end-token"),
        pytest.param({"stop": ("c",)}, ["a", "b", ""], Ended("stop", 3, 3), id="stop-sequence"),
        pytest.param({"stop": ("bx",), "end": "c"}, ["a", "", "b"], Ended("stop", 3, 3), id="held-back-until-the-end"),
        pytest.param({"stop": ("bx",), "max_new_tokens": 2}, ["a", "b"], Ended("length", 3, 2), id="held-back-length"),
        pytest.param(
            {"stop": ("bc",), "max_new_tokens": 3}, ["a", "", ""], Ended("stop", 3, 3), id="stop-with-the-last"
        ),
        pytest.param({"cancelled_after": 2}, ["a", "b"], Ended("cancelled", 3, 2), id="cancelled"),
        pytest.param({"cancelled_after": 0}, [], Ended("cancelled", 3, 0), id="cancelled-before-the-first"),
    ],
)
def test_how_an_answer_ends(told: dict[str, object], texts: list[str], ended: Ended) -> None:
    model = Model("abcdef")

    given = items(model, **told)  # type: ignore[arg-type]

    assert [item.text for item in given if isinstance(item, Token)] == texts
    assert given[-1] == ended
    assert model.asked == ended.completion_tokens  # not one computation more than was told
