"""Trains the tokenizer of a version and writes the files a bundle holds of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from worker.demo.merges import CONTINUING, learn_merges

PAD, UNKNOWN, BEGIN, END = SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
_HAN = "[\u3400-\u4dbf\u4e00-\u9fff]"


def train_tokenizer(texts: Sequence[str], *, size: int, max_tokens: int) -> Tokenizer:
    """Learn a tokenizer from texts.

    Args:
        texts: Training messages; the same texts give the same tokenizer.
        size: Entries of the vocabulary, special tokens included.
        max_tokens: Where an encoded message is cut, special tokens included.
    """
    tokenizer = Tokenizer(models.BPE())
    # Full-width letters and capitals are how people type, not what they want.
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    # Chinese has no spaces: each character is a token, and the model's runs of two find the words.
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Whitespace(), pre_tokenizers.Split(Regex(_HAN), "isolated")]
    )
    vocabulary, merges = learn_merges(_words(tokenizer, texts), size=size, special=SPECIAL_TOKENS)
    tokenizer.model = models.BPE(vocabulary, merges, unk_token=UNKNOWN, continuing_subword_prefix=CONTINUING)
    tokenizer.add_special_tokens(list(SPECIAL_TOKENS))
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A {END}",
        special_tokens=[(token, vocabulary[token]) for token in (BEGIN, END)],
    )
    tokenizer.enable_truncation(max_tokens)
    return tokenizer


def tokenizer_config(max_tokens: int) -> str:
    """Write `tokenizer_config.json`, which other libraries read beside `tokenizer.json`."""
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "do_lower_case": True,
        "model_max_length": max_tokens,
        "pad_token": PAD,
        "unk_token": UNKNOWN,
        "cls_token": BEGIN,
        "sep_token": END,
    }
    return json.dumps(config, indent=2) + "\n"


def _words(tokenizer: Tokenizer, texts: Sequence[str]) -> Iterator[str]:
    for text in texts:
        normalised = tokenizer.normalizer.normalize_str(text)
        yield from (word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normalised))
