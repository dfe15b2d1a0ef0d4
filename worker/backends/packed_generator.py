"""A packed generator: one TorchScript file with the model and its post-processing, whose settings are constants.

A request may end it earlier (`max_new_tokens`, `stop`) and say where chance begins (`seed`); everything else is sealed
with the weights. The whole sequence is computed anew for each token, so nothing is kept between two of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inference_dna import guard
from inference_dna.binding.draws import draws
from inference_dna.binding.pack import check_generator
from inference_dna.canonical import Json, Refused
from inference_dna.extra import needing
from inference_dna.measure.folder import measure_folder
from inference_dna.measure.script_model import measure
from worker.backends.seeds import seed_of
from worker.backends.text_tokenizer import TextTokenizer
from worker.backends.token_model import TokenModel
from worker.bundle import BundleRefused
from worker.generation import Allowed, GenerationRequest, Settings

_LEFT_TO_REQUESTS = frozenset({"max_new_tokens", "stop", "seed"})
_WARM_UP = "warm up"
_WARM_UP_TOKENS = 4


@dataclass(frozen=True, slots=True)
class PackedGenerator(TokenModel):
    """A loaded archive and the tokenizer beside it."""

    module: Any
    tokenizer: TextTokenizer
    archive: Path
    defaults: Settings
    allowed: Allowed
    context: int
    end_ids: frozenset[int]

    def warm_up(self) -> None:
        """Compute a few tokens and drop them: the first calls of a compiled module rewrite its graph."""
        ids = self.encode(_WARM_UP)
        for _ in range(_WARM_UP_TOKENS):
            self._greedy(ids, _WARM_UP_TOKENS)

    def described(self, environ: Mapping[str, str]) -> guard.Worker:
        """Say how this process is measured and asked."""

        def measured(bind: Sequence[str]) -> Mapping[str, Json]:
            files = measure_folder(self.archive.parent).tokenizer
            tokenizer, archive = self.tokenizer.tokenizer, self.archive
            return measure(self.module, tokenizer, archive=archive, tokenizer_files=files, environ=environ, bind=bind)

        return guard.Worker(measure=measured, warm_up=self.warm_up, generate=self._greedy)

    def reachable(self) -> Mapping[str, object]:
        """Module, tokenizer, and this value itself."""
        return {"model": self.module, "tokenizer": self.tokenizer.tokenizer, "backend": self}

    def frozen(self) -> Mapping[str, object]:
        """The tokenizer; a compiled module has no class of its own that could be exchanged."""
        return {"tokenizer": self.tokenizer.tokenizer}

    def _greedy(self, ids: Sequence[int], most: int) -> list[int]:
        import torch

        known = torch.tensor([list(ids)])
        for _ in range(most):
            known = torch.cat([known, self.module.greedy(known)], dim=1)
            if int(known[0, -1]) in self.end_ids:
                break
        return [int(token) for token in known[0, len(ids) :]]

    def _tokens(self, request: GenerationRequest) -> Iterator[int]:
        """Choose one token after another, without end."""
        import torch

        chance = draws(seed_of(request.settings))
        known = torch.tensor([request.token_ids])
        while True:
            fresh = self.module.step(known, next(chance))
            known = torch.cat([known, fresh], dim=1)
            yield int(fresh)


def load_packed_generator(archive: Path, *, seed: int | None) -> PackedGenerator:
    """Load an archive with the tokenizer of its folder.

    Args:
        archive: The file, as `pack_generator` writes it.
        seed: Seed of a request that has none; None draws anew each time.

    Raises:
        BundleRefused: The archive reads anything from outside, does not say its settings, or cannot be loaded; or there
            is no tokenizer beside it.
    """
    try:
        packed = check_generator(archive)
        module, tokenizer = _loaded(archive)
    except Refused as error:
        raise BundleRefused(f"The bundle {archive.parent.name} cannot be served. {error}") from error
    texts = TextTokenizer(tokenizer)
    defaults = Settings(
        max_new_tokens=int(module.max_new_tokens),
        temperature=_number(packed["temperature"]) if module.do_sample else 0.0,
        top_p=_number(packed["top_p"]),
        top_k=int(_number(packed["top_k"])),
        repetition_penalty=_number(packed["repetition_penalty"]),
        seed=seed,
    )
    allowed = Allowed(_LEFT_TO_REQUESTS, most_new_tokens=defaults.max_new_tokens)
    return PackedGenerator(module, texts, archive, defaults, allowed, texts.longest, frozenset(module.stop_ids))


def _loaded(archive: Path) -> tuple[Any, Any]:
    with needing("transformers", "models"):
        import torch
        import transformers
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            load: Any = torch.jit.load
            module = load(str(archive), map_location="cpu").eval()
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            archive.parent, local_files_only=True, trust_remote_code=False
        )
    # What a broken file makes the libraries raise is anything.
    except Exception as error:
        raise Refused(f"{archive.name!a} or its tokenizer cannot be loaded: {type(error).__name__}: {error}") from error
    return module, tokenizer


def _number(value: Json) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
