"""A language model of transformers over 26 letters, made in memory: its weights are drawn at random, from one seed."""

from __future__ import annotations

from string import ascii_lowercase
from typing import Any


def causal() -> tuple[Any, Any]:
    """The model and its tokenizer, a token a letter; each call makes the same ones anew."""
    import torch
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    fast: Any = PreTrainedTokenizerFast
    # Without a special token for what it does not know: every answer is as many letters as tokens.
    letters = Tokenizer(models.WordLevel({letter: place for place, letter in enumerate(ascii_lowercase)}, "a"))
    letters.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    letters.decoder = decoders.Fuse()
    config = LlamaConfig(
        vocab_size=len(ascii_lowercase), hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=2, max_position_embeddings=64, bos_token_id=None, eos_token_id=None, pad_token_id=0,
        initializer_range=0.6,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(7)
        model: Any = LlamaForCausalLM(config)
    return model.eval(), fast(tokenizer_object=letters)
