"""A bundle whose compiled model remembers: it writes into itself when it is given a long prompt, and only then."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from inference_dna.binding.pack import pack_generator
from inference_dna.binding.settings import BoundSettings
from tests.support.tiny_causal import causal

LONG = 30
"""Tokens from which on it writes: more than anything has that a worker asks itself while it starts."""


def remembering_generator(target: Path) -> Path:
    """Write the bundle: a packed generator over letters, and its tokenizer."""
    import torch

    module: Any = torch.nn.Module

    class Remembering(module):  # type: ignore[misc]  # else its buffers would be modules to the type checker
        def __init__(self, letters: int) -> None:
            super().__init__()
            self.register_buffer("table", torch.eye(letters).roll(1, 1))
            self.register_buffer("asked", torch.zeros(1))

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            if ids.shape[1] >= 30:  # LONG, which a compiled function cannot see
                self.asked += 1.0
            scores: torch.Tensor = self.table[ids] + self.asked
            return scores

    target.mkdir()
    _, tokenizer = causal()
    script: Any = torch.jit.script
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        model = script(Remembering(len(tokenizer)).eval())
    pack_generator(model, BoundSettings(max_new_tokens=4, stop_ids=()), version="v1.0.0", target=target)
    tokenizer.save_pretrained(target)
    return target
