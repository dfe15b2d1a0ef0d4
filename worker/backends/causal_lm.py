"""A causal language model of transformers, decoded by a loop of our own.

`generate` of the library merges a request with the model's shared `generation_config`, and keeps its processors, cache
and criteria where a later request may find them. Here every number that shapes an answer is an argument, every tensor a
local variable, and chance comes from the request's own seed. One request is one batch: batched kernels round
otherwise, and an answer must not depend on who else asked (ADR 12).
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inference_dna import guard
from inference_dna.binding.draws import draws
from inference_dna.binding.settings import bound_settings
from inference_dna.canonical import Refused
from inference_dna.measure.generation import read_generation
from inference_dna.measure.loading import load_transformers
from worker.answer_text import AnswerText
from worker.backends.next_token import next_token
from worker.backends.seeds import seed_of
from worker.backends.text_tokenizer import TextTokenizer
from worker.backends.token_model import TokenModel
from worker.bundle import BundleRefused
from worker.decoding import answer
from worker.generation import Allowed, GenerationRequest, Settings
from worker.sealed import Sealed

_WARM_UP = "warm up"
_WARM_UP_TOKENS = 4
_CODE = (next_token, answer, AnswerText)
"""What we do to scores and to the answer; its source is part of the postprocess section."""


@dataclass(frozen=True, slots=True)
class CausalLM(TokenModel):
    """A loaded model. `given` is what the library would be given for a request without settings."""

    model: Any
    tokenizer: TextTokenizer
    folder: Path
    defaults: Settings
    allowed: Allowed
    context: int
    end_ids: frozenset[int]
    given: Mapping[str, Any]

    def warm_up(self) -> None:
        """Compute a few tokens and drop them. No code of a request runs: the guard has sealed nothing yet."""
        import torch
        from transformers import DynamicCache

        ids = torch.tensor([self.encode(_WARM_UP)], device=self.model.device)
        cache = DynamicCache(config=self.model.config)
        for _ in range(_WARM_UP_TOKENS):
            with torch.inference_mode():
                scores = self.model(input_ids=ids, cache=cache, use_cache=True, logits_to_keep=1).logits
                ids = scores[:, -1:].argmax(dim=-1)

    def described(self, environ: Mapping[str, str]) -> guard.Worker:
        """Say how this process is measured and asked."""
        return guard.transformers(
            self.model, self.tokenizer.tokenizer, self.folder, environ=environ, defaults=self.given, filters=_CODE
        )

    def reachable(self) -> Mapping[str, object]:
        """Model, tokenizer, and this value itself."""
        return {"model": self.model, "tokenizer": self.tokenizer.tokenizer, "backend": self}

    def frozen(self) -> Mapping[str, object]:
        """Every module of the model, its configurations, the tokenizer."""
        modules = {f"model.{name}" if name else "model": module for name, module in self.model.named_modules()}
        configurations = {"model.config": self.model.config, "model.generation_config": self.model.generation_config}
        return {**modules, **configurations, "tokenizer": self.tokenizer.tokenizer}

    def _tokens(self, request: GenerationRequest) -> Iterator[int]:
        """Choose one token after another, without end."""
        import torch
        from transformers import DynamicCache

        settings, device = request.settings, self.model.device
        chance = draws(seed_of(settings))
        cache = DynamicCache(config=self.model.config)
        known = torch.tensor(request.token_ids, device=device)
        fresh = known
        while True:
            # The mode belongs to the thread, and a thread does other things between two tokens.
            with torch.inference_mode():
                scores = self.model(input_ids=fresh[None], cache=cache, use_cache=True, logits_to_keep=1).logits
                token = next_token(torch, scores[0, -1].float(), known, settings, next(chance))
                fresh = torch.tensor([token], device=device)
                known = torch.cat([known, fresh])
            yield token


def load_causal_lm(folder: Path, architecture: str, sealed: Sealed) -> CausalLM:
    """Load a folder as a language model.

    Args:
        folder: What `from_pretrained` is given.
        architecture: The class that its configuration names.
        sealed: What the bundle says of its settings.

    Raises:
        BundleRefused: The library cannot load it, it cannot be decoded one token at a time, or it asks for settings
            that this worker does not carry.
    """
    try:
        model, tokenizer = load_transformers(folder, architecture)
        # Text is handed out as it comes; what a later token would tidy up has been read by then.
        tokenizer.clean_up_tokenization_spaces = False
        _check_steps(model)
        given = {"max_new_tokens": sealed.max_new_tokens, **sealed.defaults}
        bound = bound_settings(read_generation(model, tokenizer, defaults=given))
    except Refused as error:
        raise BundleRefused(f"The bundle {folder.name} cannot be served. {error}") from error
    if bound.bad_words:
        raise BundleRefused(
            f"The bundle {folder.name} bans words; only a packed generator (--backend torchscript) does."
        )
    defaults = Settings(
        max_new_tokens=bound.max_new_tokens,
        temperature=bound.temperature if bound.do_sample else 0.0,
        top_p=bound.top_p,
        top_k=bound.top_k,
        repetition_penalty=bound.repetition_penalty,
        seed=sealed.seed,
    )
    texts = TextTokenizer(tokenizer)
    context = min(model.config.get_text_config().max_position_embeddings, texts.longest)
    return CausalLM(model, texts, folder, defaults, sealed.allowed, context, frozenset(bound.stop_ids), given)


def _check_steps(model: Any) -> None:
    takes = inspect.signature(type(model).forward).parameters.keys()
    missing = {"input_ids", "cache", "use_cache", "logits_to_keep"} - takes
    if missing or not hasattr(model.config.get_text_config(), "max_position_embeddings"):
        named = ", ".join(sorted(missing)) or "max_position_embeddings"
        raise Refused(f"A {type(model).__name__} cannot be decoded one token at a time here: it has no {named}.")
