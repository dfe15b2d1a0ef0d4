from __future__ import annotations

import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from worker.demo.dataset import (
    COLUMNS,
    FOLDER,
    Message,
    heldout_messages,
    intents,
    read_dataset,
    training_messages,
)

MESSAGES = read_dataset()
INTENTS = intents(MESSAGES)


def essence(text: str) -> str:
    """What is left of a message without capitals, punctuation and spaces."""
    return "".join(letter for letter in unicodedata.normalize("NFKC", text).casefold() if letter.isalnum())


def of(intent: str, split: str) -> list[Message]:
    return [message for message in MESSAGES if message.intent == intent and message.split == split]


def test_there_are_fourteen_intents() -> None:
    assert len(INTENTS) == 14


@pytest.mark.parametrize("intent", INTENTS)
def test_every_intent_has_messages_enough_in_both_languages(intent: str) -> None:
    languages = Counter(message.lang for message in MESSAGES if message.intent == intent)

    assert languages == {"zh": 64, "en": 82}


@pytest.mark.parametrize("intent", INTENTS)
def test_the_held_out_part_is_fixed(intent: str) -> None:
    assert Counter(message.lang for message in of(intent, "heldout")) == {"zh": 10, "en": 10}
    assert len(of(intent, "train")) == 126


def test_the_splits_are_two_and_the_lines_three() -> None:
    assert {message.split for message in MESSAGES} == {"train", "heldout"}
    assert {message.since for message in MESSAGES} == {"2.3", "2.4", "2.4.1"}


def test_no_message_stands_twice_however_it_is_typed() -> None:
    counts = Counter(essence(message.text) for message in MESSAGES)

    assert [text for text, count in counts.items() if count > 1] == []


def test_messages_are_written_in_the_language_they_name() -> None:
    def has_han(text: str) -> bool:
        return any("\u4e00" <= letter <= "\u9fff" for letter in text)

    assert [message.text for message in MESSAGES if has_han(message.text) != (message.lang == "zh")] == []


def test_no_message_is_longer_than_a_message() -> None:
    assert max(len(message.text) for message in MESSAGES) <= 80


def test_messages_are_no_template_with_a_word_swapped() -> None:
    """The most frequent opening of two words begins only a small part of the English messages."""
    openings = Counter(
        tuple(message.text.casefold().split()[:2])
        for message in MESSAGES
        if message.lang == "en" and " " in message.text
    )

    assert openings.most_common(1)[0][1] < 0.06 * openings.total()


def test_a_release_learns_from_its_lines_and_never_from_what_is_held_out() -> None:
    older, newer = training_messages(MESSAGES, ["2.3"]), training_messages(MESSAGES, ["2.3", "2.4"])

    assert len(older) == 784
    assert set(older) < set(newer)
    assert set(newer).isdisjoint(heldout_messages(MESSAGES))


def test_the_files_are_tidy() -> None:
    for path in FOLDER.glob("*.tsv"):
        content = path.read_bytes()
        assert content.endswith(b"\n"), path.name
        assert b"\r" not in content, path.name
        assert all(row == row.strip() for row in content.decode().splitlines()), path.name


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("text\tlang\n", "must begin with the columns", id="another-header"),
        pytest.param("\t".join(COLUMNS) + "\ntrain\t2.3\ten\n", "3 columns", id="a-column-missing"),
    ],
)
def test_a_file_of_another_form_is_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "refund.tsv").write_text(text, encoding="utf-8")

    with pytest.raises(ValueError, match=says):
        read_dataset(tmp_path)
