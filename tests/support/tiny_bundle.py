"""Bundles of tiny models as a model team would leave them: folders that transformers loads, written in a moment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.tiny_causal import causal
from tests.support.tiny_classifier import classifier

CHAT_TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"


def language_model(target: Path, *, end: str | None = None, sealed: dict[str, Any] | None = None) -> Path:
    """Write the language model over 26 letters; `end` is the letter that ends an answer, `sealed` its `worker.json`."""
    import torch

    model, tokenizer = causal()
    with torch.random.fork_rng():
        torch.manual_seed(11)
        # Any text may be asked of a worker, so the unknown letter needs a place as well.
        model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    tokenizer.chat_template = CHAT_TEMPLATE
    if end is not None:
        model.generation_config.eos_token_id = tokenizer.convert_tokens_to_ids(end)
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)
    if sealed is not None:
        (target / "worker.json").write_text(json.dumps(sealed), encoding="utf-8")
    return target


def sequence_classifier(target: Path) -> Path:
    """Write the classifier with the labels cold and warm."""
    model, tokenizer = classifier()
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)
    return target
