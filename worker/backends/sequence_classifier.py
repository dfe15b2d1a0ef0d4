"""A sequence classifier of transformers, computed in batches that give each text its own numbers (ADR 12)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from inference_dna import guard
from inference_dna.canonical import Refused
from inference_dna.inputs import hash_tokens
from inference_dna.measure.loading import load_transformers
from inference_dna.measure.served_tokenizer import Paths
from worker.backend import Inference
from worker.backends.equal_batches import batches, equal_sizes
from worker.bundle import BundleRefused
from worker.postprocess import Postprocess
from worker.ranking import rank

_TOP = 5
_WARM_UP = "warm up"
_FALLBACK = ""
"""Never given: with a threshold of 0 every answer is sure enough."""


@dataclass(frozen=True, slots=True)
class SequenceClassifier:
    """A loaded model. `sizes` is how many texts share a batch, by the length they are filled up to."""

    model: Any
    tokenizer: Any
    folder: Path
    labels: tuple[str, ...]
    context: int
    postprocess: Postprocess
    sizes: Mapping[int, int]

    @property
    def names(self) -> Mapping[str, Mapping[str, str]]:
        """A model of transformers gives its labels no names but themselves."""
        return self.postprocess.labels

    def classify(self, texts: Sequence[str]) -> list[Inference]:
        """Answer each text, longer ones cut to what the model takes."""
        encoded = [self.encode(text) for text in texts]
        answered: dict[int, Inference] = {}
        for batch in batches(list(map(len, encoded)), self.sizes):
            rows = scores_of(self.model, self.tokenizer, batch.rows(encoded), batch.length)
            for place, scores in zip(batch.places, rows, strict=False):
                answered[place] = Inference(rank(scores, self.labels, self.postprocess), hash_tokens([encoded[place]]))
        return [answered[place] for place in range(len(texts))]

    def encode(self, text: str) -> list[int]:
        """Give the ids of one text. Every call states the same length, so none leaves the tokenizer set otherwise."""
        ids: list[int] = self.tokenizer(text, truncation=True, max_length=self.context)["input_ids"]
        return ids

    def warm_up(self) -> None:
        """Score a few words."""
        ids = self.encode(_WARM_UP)
        scores_of(self.model, self.tokenizer, [ids], max(len(ids), 1))

    def described(self, environ: Mapping[str, str]) -> guard.Worker:
        """Say how this process is measured."""
        paths = Paths(encode=self.encode)
        return guard.transformers(
            self.model, self.tokenizer, self.folder, environ=environ, filters=(rank,), paths=paths
        )

    def reachable(self) -> Mapping[str, object]:
        """Model, tokenizer, and this value itself."""
        return {"model": self.model, "tokenizer": self.tokenizer, "backend": self}

    def frozen(self) -> Mapping[str, object]:
        """Every module of the model, its configuration, the tokenizer."""
        modules = {f"model.{name}" if name else "model": module for name, module in self.model.named_modules()}
        return {**modules, "model.config": self.model.config, "tokenizer": self.tokenizer}


def scores_of(model: Any, tokenizer: Any, batch: Sequence[Sequence[int]], length: int) -> list[list[float]]:
    """Compute one batch, each text filled up to a length in tokens and the filling masked."""
    import torch

    filling = tokenizer.pad_token_id or 0
    filled = [[*ids, *[filling] * (length - len(ids))] for ids in batch]
    # A text without any token is one of filling: attention to nothing would give no numbers.
    mask = [[place < max(len(ids), 1) for place in range(length)] for ids in batch]
    device = model.device
    with torch.inference_mode():
        logits = model(
            input_ids=torch.tensor(filled, device=device),
            attention_mask=torch.tensor(mask, dtype=torch.long, device=device),
        ).logits
    scores: list[list[float]] = logits.float().tolist()
    return scores


def load_sequence_classifier(folder: Path, architecture: str) -> SequenceClassifier:
    """Load a folder as a classifier, and find out which batches may be computed.

    Raises:
        BundleRefused: The library cannot load it, or it does not choose one of several labels.
    """
    try:
        model, tokenizer = load_transformers(folder, architecture)
    except Refused as error:
        raise BundleRefused(f"The bundle {folder.name} cannot be served. {error}") from error
    if getattr(model.config, "problem_type", None) not in (None, "single_label_classification"):
        raise BundleRefused(f"The model of {folder.name} does not choose one label: {model.config.problem_type}.")
    labels = tuple(str(model.config.id2label[place]) for place in range(model.config.num_labels))
    ids = sorted(set(range(min(len(tokenizer), 1000))) - set(tokenizer.all_special_ids))
    sizes = equal_sizes(lambda batch, length: scores_of(model, tokenizer, batch, length), ids)
    context = min(
        getattr(model.config, "max_position_embeddings", tokenizer.model_max_length), tokenizer.model_max_length
    )
    return SequenceClassifier(model, tokenizer, folder, labels, context, _postprocess(labels), sizes)


def _postprocess(labels: tuple[str, ...]) -> Postprocess:
    """Scores as they are, the best few shown."""
    names: Mapping[str, Mapping[str, str]] = MappingProxyType({label: MappingProxyType({}) for label in labels})
    return Postprocess(1.0, min(_TOP, len(labels)), 0.0, _FALLBACK, names)
