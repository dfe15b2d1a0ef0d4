from __future__ import annotations

import pytest

from inference_dna.canonical import canonical
from worker.bundle import Bundle
from worker.engine import Engine
from worker.tokenizer import MessageTokenizer, TokenizerRefused


def test_a_message_begins_and_ends_with_its_special_tokens(engine: Engine) -> None:
    special = engine.tokenizer.special_tokens()
    ids = engine.tokenizer.encode("你好")

    assert (ids[0], ids[-1]) == (special["[CLS]"], special["[SEP]"])
    assert len(ids) == 4


def test_a_long_message_is_cut(engine: Engine) -> None:
    assert len(engine.tokenizer.encode("退款 " * 500)) == 64


def test_capitals_and_full_width_letters_are_how_people_type(engine: Engine) -> None:
    assert engine.tokenizer.encode("ＲＥＦＵＮＤ Please") == engine.tokenizer.encode("refund please")


def test_special_tokens_are_the_four_of_the_vocabulary(engine: Engine) -> None:
    assert engine.tokenizer.special_tokens() == {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3}


def test_the_section_holds_files_probe_and_settings(bundle: Bundle, engine: Engine) -> None:
    section = engine.tokenizer.section(bundle.folder.tokenizer)

    assert section["settings"] == {"add_special_tokens": True, "max_length": 64, "truncation_side": "right"}
    assert '"set":"probe/1"' in canonical(section["probe"])
    assert [entry.name for entry in bundle.folder.tokenizer] == ["tokenizer.json", "tokenizer_config.json"]


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff"])
def test_a_file_that_is_no_tokenizer_is_refused(content: bytes) -> None:
    with pytest.raises(TokenizerRefused, match=r"tokenizer\.json"):
        MessageTokenizer(content)
