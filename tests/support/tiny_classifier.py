"""A classifier of transformers with two labels, made in memory: what is asked of it is its kind, not its answers."""

from __future__ import annotations

from typing import Any


def classifier() -> tuple[Any, Any]:
    """The model and a tokenizer of three words."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    fast: Any = PreTrainedTokenizerFast
    config = BertConfig(
        vocab_size=8, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8,
        id2label={0: "cold", 1: "warm"}, label2id={"cold": 0, "warm": 1},
    )  # fmt: skip
    words = Tokenizer(models.WordLevel({"[UNK]": 0, "warm": 1, "cold": 2}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    return BertForSequenceClassification(config), fast(tokenizer_object=words, unk_token="[UNK]")
