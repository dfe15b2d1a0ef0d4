from __future__ import annotations

import json

from worker.demo.vocabulary import tokenizer_config, train_tokenizer

TEXTS = ["Refund please", "refund my order", "where is my order", "我要退款", "退款多久到"] * 3


def test_a_frequent_word_becomes_one_token_and_each_chinese_character_its_own() -> None:
    tokenizer = train_tokenizer(TEXTS, size=120, max_tokens=16)

    assert tokenizer.encode("REFUND 退款").tokens == ["[CLS]", "refund", "退", "款", "[SEP]"]


def test_what_was_never_seen_is_unknown() -> None:
    tokenizer = train_tokenizer(TEXTS, size=120, max_tokens=16)

    assert tokenizer.encode("龘").tokens == ["[CLS]", "[UNK]", "[SEP]"]


def test_the_same_texts_give_the_same_file() -> None:
    first, second = (train_tokenizer(TEXTS, size=120, max_tokens=16).to_str() for _ in range(2))

    assert first == second


def test_a_long_message_is_cut_with_its_end_kept() -> None:
    ids = train_tokenizer(TEXTS, size=120, max_tokens=8).encode("order " * 50).ids

    assert len(ids) == 8
    assert ids[-1] == 3


def test_the_configuration_says_what_the_file_does() -> None:
    config = json.loads(tokenizer_config(16))

    assert (config["do_lower_case"], config["model_max_length"]) == (True, 16)
