from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.answer_text import AnswerText


def decode_bytes(ids: Sequence[int]) -> str:
    """A tokenizer whose tokens are bytes, as the smallest ones of every byte-level vocabulary are."""
    return bytes(ids).decode("utf-8", errors="replace")


def pieces(text: str, *stops: str) -> tuple[list[str], AnswerText]:
    answer = AnswerText(decode_bytes, stops)
    given: list[str] = []
    for token in text.encode():
        given.append(answer.add(token))
        if answer.is_stopped:
            return given, answer
    return [*given, answer.end()], answer


def test_a_character_of_several_tokens_comes_whole_with_its_last_one() -> None:
    assert pieces("é猫🐈")[0] == ["", "é", "", "", "猫", "", "", "", "🐈", ""]


def test_half_a_character_at_the_end_is_shown_as_what_it_is() -> None:
    answer = AnswerText(decode_bytes, ())

    assert answer.add("猫".encode()[0]) == ""
    assert answer.end() == "�"


@pytest.mark.parametrize(
    ("text", "stops", "shown"),
    [
        pytest.param("abcEND", ["END"], "abc", id="at-the-end"),
        pytest.param("abENcENDx", ["END"], "abENc", id="begun-in-vain-before"),
        pytest.param("aab", ["ab"], "a", id="begun-twice"),
        pytest.param("abc", ["bc", "b"], "a", id="the-first-to-be-complete"),
        pytest.param("ENDabc", ["END"], "", id="at-once"),
        pytest.param("a猫b", ["猫"], "a", id="of-a-character-of-several-tokens"),
        pytest.param("abEN", ["END"], "abEN", id="never-complete"),
        pytest.param("abc", [], "abc", id="no-stops"),
    ],
)
def test_an_answer_ends_before_a_stop_sequence(text: str, stops: list[str], shown: str) -> None:
    given, answer = pieces(text, *stops)

    assert "".join(given) == shown
    assert answer.is_stopped == (shown != text)


@given(st.text(alphabet="abé猫", max_size=30), st.lists(st.text(alphabet="abé猫", min_size=1, max_size=4), max_size=3))
def test_whatever_the_tokens_nothing_of_a_stop_sequence_leaks(text: str, stops: list[str]) -> None:
    first = min((place for stop in stops if (place := text.find(stop)) >= 0), default=None)
    # The stop that is complete first ends the answer, though another may begin before it.
    ends = [text.find(stop) + len(stop) for stop in stops if stop in text]

    given, answer = pieces(text, *stops)

    shown = "".join(given)
    assert text.startswith(shown)
    assert not any(stop in shown for stop in stops)
    assert answer.is_stopped == (first is not None)
    if not ends:
        assert shown == text
    # What was handed out early was never to be taken back.
    for place in range(len(given)):
        assert shown.startswith("".join(given[:place]))
