from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from inference_dna.canonical import Refused
from inference_dna.measure.live_tokenizer import LiveTokenizer, live_tokenizer
from inference_dna.measure.tokenizer import ProbeDifference, first_difference, probe
from inference_dna.probe import PROBE_CHAT, PROBE_TEXTS
from tests.support.smollm2 import copy_folder
from tests.unit.inference_dna.measure.conftest import Loaded

pytestmark = pytest.mark.models


def answers(live: LiveTokenizer) -> Any:
    return probe(live.encode, special_tokens=live.special_tokens, render_chat=live.render_chat)


def test_a_transformers_tokenizer_is_asked_through_its_own_paths(smollm2: Loaded) -> None:
    live = live_tokenizer(smollm2.tokenizer)

    assert live.kind == "huggingface-fast"
    assert list(live.encode("Hello, world!")) == smollm2.tokenizer("Hello, world!")["input_ids"]
    assert live.special_tokens["<|im_start|>"] == 1
    assert len(live.special_tokens) == 17
    assert live.render_chat is not None
    rendered = smollm2.tokenizer.apply_chat_template([dict(m) for m in PROBE_CHAT], tokenize=False)
    begun = smollm2.tokenizer(rendered + "<|im_start|>assistant\n")["input_ids"]
    assert list(live.render_chat(PROBE_CHAT)) == begun
    assert live.settings["max_length"] is None
    assert live.settings["truncation_side"] == "right"


def test_what_a_request_asked_for_leaves_no_trace(smollm2: Loaded) -> None:
    before = live_tokenizer(smollm2.tokenizer)
    smollm2.tokenizer(["one two three", "four"], padding=True, truncation=True, max_length=2)

    after = live_tokenizer(smollm2.tokenizer)

    assert (after.settings, after.evidence) == (before.settings, before.evidence)


def test_how_the_library_below_cuts_is_a_setting(smollm2: Loaded) -> None:
    from tokenizers import Tokenizer

    cutting = Tokenizer.from_file(str(smollm2.folder / "tokenizer.json"))
    cutting.enable_truncation(4)

    live = live_tokenizer(cutting)

    assert live.settings["truncation"] == {
        "direction": "right", "max_length": 4, "stride": 0, "strategy": "longest_first",
    }  # fmt: skip
    assert live.settings["padding"] is None
    assert len(live.encode("one two three four five six")) == 4


def test_the_same_files_in_the_library_below_give_the_same_ids(smollm2: Loaded) -> None:
    from tokenizers import Tokenizer

    below = live_tokenizer(Tokenizer.from_file(str(smollm2.folder / "tokenizer.json")))
    above = live_tokenizer(smollm2.tokenizer)

    assert below.render_chat is None
    assert answers(below).ids == answers(above).ids
    assert below.evidence["content"] == above.evidence["content"]
    assert below.special_tokens == above.special_tokens


def test_another_class_over_the_same_file_is_named_by_text_position_and_ids(smollm2: Loaded) -> None:
    from tokenizers import Tokenizer, pre_tokenizers

    changed = Tokenizer.from_file(str(smollm2.folder / "tokenizer.json"))
    # What a tokenizer rebuilt from vocabulary and merges did: it put a space before every text.
    changed.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    before = live_tokenizer(smollm2.tokenizer)

    difference = first_difference(answers(before), answers(live_tokenizer(changed)))

    assert difference == ProbeDifference("a", 0, before.encode("a")[0], before.encode(" a")[0])


def test_only_a_template_changed(smollm2: Loaded, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    folder = copy_folder(tmp_path / "model")
    template = folder / "chat_template.jinja"
    template.write_text(template.read_text(encoding="utf-8").replace("helpful", "careless"), encoding="utf-8")
    changed = live_tokenizer(AutoTokenizer.from_pretrained(folder))
    before = live_tokenizer(smollm2.tokenizer)

    assert changed.settings["chat_template"] != before.settings["chat_template"]
    # The probe's conversation has a system message of its own, so that the changed default never shows in its ids.
    assert answers(changed) == answers(before)


def test_several_templates_have_a_digest_each(smollm2: Loaded) -> None:
    kept = smollm2.tokenizer.chat_template
    smollm2.tokenizer.chat_template = {"default": kept, "tools": "{{ tools }}"}
    try:
        several = live_tokenizer(smollm2.tokenizer).settings["chat_template"]
    finally:
        smollm2.tokenizer.chat_template = kept

    assert several == {
        "default": live_tokenizer(smollm2.tokenizer).settings["chat_template"],
        "tools": f"sha256:{sha256(b'{{ tools }}').hexdigest()}",
    }


def test_a_tokenizer_that_fails_is_refused_with_the_text(smollm2: Loaded) -> None:
    def broken(text: str) -> Sequence[int]:
        raise KeyError("vocab")

    with pytest.raises(Refused, match="failed on 'Hello': KeyError: 'vocab'"):
        live_tokenizer(broken).encode("Hello")


def test_a_tokenizer_that_tells_less_than_others_of_its_library_is_refused() -> None:
    from transformers import PreTrainedTokenizerBase

    with pytest.raises(Refused, match=r"does not tell its .*; give a function"):
        live_tokenizer(object.__new__(PreTrainedTokenizerBase))


def test_what_is_no_tokenizer_is_refused() -> None:
    with pytest.raises(Refused, match="A dict is no tokenizer"):
        live_tokenizer({})


def trained_pieces(lines: Iterable[str], vocab_size: int) -> Any:
    """A real model of the library, trained on a few lines."""
    import sentencepiece

    trained = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=trained, vocab_size=vocab_size, minloglevel=2
    )
    return sentencepiece.SentencePieceProcessor(model_proto=trained.getvalue())


@pytest.fixture(scope="module")
def sentence_pieces() -> Any:
    menu = [f"the {word} of the day is {number}" for number in range(200) for word in ("soup", "fish", "bread")]
    return trained_pieces(menu, vocab_size=45)


def test_a_sentencepiece_model_is_asked(sentence_pieces: Any) -> None:
    live = live_tokenizer(sentence_pieces)

    assert live.kind == "sentencepiece"
    assert live.special_tokens == {"<s>": 1, "</s>": 2}
    assert live.bos_id == 1
    assert list(live.encode("the soup of the day")) == sentence_pieces.encode("the soup of the day")
    assert len(answers(live).ids) == 34


def test_sampling_left_on_in_sentencepiece_is_refused() -> None:
    # Pieces of the probe's own texts: each can be cut in many ways, so that all agree twice by chance in no run.
    pieces = trained_pieces([text for text in PROBE_TEXTS if text.strip()] * 20, vocab_size=160)
    sampling = live_tokenizer(lambda text: pieces.encode(text, enable_sampling=True, alpha=0.1, nbest_size=-1))

    with pytest.raises(Refused, match="differently twice"):
        answers(sampling)
