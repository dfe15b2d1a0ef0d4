from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from inference_dna.canonical import Json, Refused, canonical, parse_json
from inference_dna.files import FileEntry
from inference_dna.genome import parse_section, section_digest
from inference_dna.measure.tokenizer import (
    CHAT,
    Probe,
    ProbeDifference,
    first_difference,
    probe,
    recorded_probe,
    tokenizer_section,
)
from inference_dna.probe import PROBE_CHAT, PROBE_TEXTS, ids_digest, texts_digest

SPECIAL = {"[SEP]": 102, "[PAD]": 0, "[CLS]": 101}
FILES = [FileEntry("vocab.txt", 3, "b3b66c8164ba3706b3c0946dabe027cadf5a9fd4315b5aa3200113e898980fe4")]


def by_character(text: str) -> list[int]:
    return [101, *map(ord, text), 102]


def by_byte(text: str) -> list[int]:
    return [101, *text.encode(), 102]


def digits_together(text: str) -> list[int]:
    """Letters as before, runs of digits as one: the change a library update made unseen."""
    return by_character(text.replace("0123456789", "0"))


def rendered(conversation: Sequence[Mapping[str, str]]) -> list[int]:
    return [token for message in conversation for token in by_character(message["role"] + message["content"])]


def test_the_texts_are_the_set_and_the_special_tokens_in_id_order() -> None:
    answers = probe(by_character, special_tokens=SPECIAL)

    assert answers.texts == (*PROBE_TEXTS, "[PAD]", "[CLS]", "[SEP]")
    assert answers.ids[2] == (101, ord("a"), 102)
    assert len(answers.ids) == len(answers.texts) == 35
    assert answers.chat is None


def test_the_document_holds_the_digests() -> None:
    answers = probe(by_character, special_tokens={}, render_chat=rendered)

    assert answers.document() == {
        "set": "probe/1",
        "texts": texts_digest(PROBE_TEXTS),
        "ids": ids_digest([by_character(text) for text in PROBE_TEXTS]),
        "chat": ids_digest([rendered(PROBE_CHAT)]),
    }
    assert probe(by_character, special_tokens={}).document()["chat"] is None


@pytest.mark.parametrize("answer", [[1.0], [True], ["1"], [None]])
def test_an_answer_that_is_no_list_of_integers_is_refused(answer: list[int]) -> None:
    with pytest.raises(Refused, match="no integer"):
        probe(lambda _: answer, special_tokens={})
    with pytest.raises(Refused, match="conversation"):
        probe(by_character, special_tokens={}, render_chat=lambda _: answer)


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        pytest.param(by_character, None, id="equal"),
        pytest.param(digits_together, ProbeDifference("0123456789", 2, ord("1"), 102), id="digits"),
        pytest.param(by_byte, ProbeDifference("你好，世界！", 1, ord("你"), 0xE4), id="script"),
        pytest.param(lambda text: by_character(text)[:-1], ProbeDifference("", 1, 102, None), id="end-missing"),
        pytest.param(lambda text: [*by_character(text), 102], ProbeDifference("", 2, None, 102), id="doubled-end"),
    ],
)
def test_a_difference_names_the_text_the_position_and_both_ids(
    other: object, difference: ProbeDifference | None
) -> None:
    assert callable(other)
    first, second = probe(by_character, special_tokens=SPECIAL), probe(other, special_tokens=SPECIAL)

    assert first_difference(first, second) == difference


def test_only_texts_that_both_were_asked_are_compared() -> None:
    first = Probe(("a", "<s>"), ((1,), (2,)))
    second = Probe(("a", "</s>"), ((1,), (3,)))

    assert first_difference(first, second) is None


def test_equal_files_with_other_ids_are_another_tokenizer() -> None:
    sections = [
        tokenizer_section(
            FILES,
            probe(encode, special_tokens=SPECIAL),
            kind="wordpiece",
            settings={"max_length": 512},
            evidence={"library": f"tokenizers {encode.__name__}"},
        )
        for encode in (by_character, digits_together, by_character)
    ]
    digests = [section_digest("tokenizer", section) for section in sections]

    assert digests[0] == digests[2] != digests[1]
    evidence = sections[0]["evidence"]
    assert isinstance(evidence, dict)
    assert evidence["library"] == "tokenizers by_character"


def test_a_difference_on_the_chat_path_alone_is_told() -> None:
    first = probe(by_character, special_tokens={}, render_chat=rendered)
    second = probe(by_character, special_tokens={}, render_chat=lambda conversation: [101, *rendered(conversation)])

    assert first_difference(first, second) == ProbeDifference(CHAT, 1, ord("s"), 101)
    assert first_difference(first, probe(by_character, special_tokens={})) is None


def test_a_tokenizer_that_answers_by_chance_is_refused() -> None:
    lengths = iter(range(1000))

    with pytest.raises(Refused, match="differently twice"):
        probe(lambda _: [next(lengths)], special_tokens={})


def test_the_recorded_ids_are_read_back() -> None:
    answers = probe(by_character, special_tokens=SPECIAL, render_chat=rendered)

    section = tokenizer_section(FILES, answers, kind="wordpiece", settings={})

    assert recorded_probe(parse_section("tokenizer", parse_json(canonical(section)))) == answers


@pytest.mark.parametrize(
    "recorded",
    [
        pytest.param(None, id="none"),
        pytest.param({"special": [], "ids": [[1]], "chat": None}, id="too-few"),
        pytest.param({"special": ["x"], "ids": [[n] for n in range(33)], "chat": None}, id="edited"),
        pytest.param({"special": 5, "ids": None}, id="nonsense"),
        pytest.param({"special": [], "ids": [5] * 32, "chat": None}, id="no-lists"),
    ],
)
def test_recorded_ids_that_the_digest_does_not_cover_are_not_believed(recorded: Json) -> None:
    section = tokenizer_section(FILES, probe(by_character, special_tokens={}), kind="wordpiece", settings={})

    assert recorded_probe({**section, "evidence": {"probe": recorded}}) is None
    assert recorded_probe({**section, "evidence": None}) is None


def test_a_tokenizer_inside_the_weights_has_no_files() -> None:
    section = tokenizer_section([], probe(by_character, special_tokens={}), kind="embedded", settings={})

    assert "files" not in section
    assert len(section_digest("tokenizer", section)) == 64
