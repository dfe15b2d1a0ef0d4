"""Makes a bundle: trains one version and writes its folder, manifest last."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from inference_dna.assurance import Assurance
from inference_dna.manifest import Subject, build_manifest
from worker.bundle import CONFIG, MANIFEST, MODEL, POSTPROCESS, TOKENIZER, read_bundle
from worker.demo.dataset import Message, intents, training_messages
from worker.demo.fitting import fit
from worker.demo.graph import export
from worker.demo.labels import FALLBACK, LABELS
from worker.demo.ngrams import features
from worker.demo.recipes import MAX_TOKENS, MODEL_ID, Recipe
from worker.demo.vocabulary import tokenizer_config, train_tokenizer
from worker.engine import load_engine
from worker.measurement import artifact

_TOP_K = 3


@dataclass(frozen=True, slots=True)
class _Trained:
    model: bytes
    tokenizer: str
    vocabulary: int


def build(recipe: Recipe, messages: Sequence[Message], folder: Path) -> None:
    """Train a version and write its bundle into a folder, which is made where it is missing."""
    labels = intents(messages)
    trained = _train(recipe, training_messages(messages, recipe.lines), labels)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MODEL).write_bytes(trained.model)
    _write(folder / TOKENIZER, trained.tokenizer)
    _write(folder / "tokenizer_config.json", tokenizer_config(MAX_TOKENS))
    _write(folder / CONFIG, _json(_config(recipe, trained.vocabulary, labels)))
    _write(folder / POSTPROCESS, _json(_postprocess(recipe)))
    certify(folder, Subject(MODEL_ID, recipe.version), created_at=recipe.released)


def certify(folder: Path, subject: Subject, *, created_at: str) -> None:
    """Measure a bundle and write its manifest; it is of the artifact alone, for nothing is served here."""
    # An old manifest would be listed among the ignored files of the new one.
    (folder / MANIFEST).unlink(missing_ok=True)
    bundle = read_bundle(folder)
    genome = artifact(bundle, load_engine(bundle))
    manifest = build_manifest(genome, subject=subject, created_at=created_at, assurance=Assurance.FULL_HASH)
    _write(folder / MANIFEST, _json(manifest))


def _train(recipe: Recipe, messages: Sequence[Message], labels: Sequence[str]) -> _Trained:
    texts = [message.text for message in messages]
    tokenizer = train_tokenizer(texts, size=recipe.vocabulary, max_tokens=MAX_TOKENS)
    vocabulary = tokenizer.get_vocab_size()
    fitted = fit(
        [
            features(tokenizer.encode(text).ids, vocabulary=vocabulary, ngrams=recipe.ngrams, buckets=recipe.buckets)
            for text in texts
        ],
        [labels.index(message.intent) for message in messages],
        rows=vocabulary + recipe.buckets,
        classes=len(labels),
        penalty=recipe.penalty,
    )
    model = export(fitted, vocabulary=vocabulary, ngrams=recipe.ngrams, buckets=recipe.buckets)
    return _Trained(model, tokenizer.to_str(pretty=False) + "\n", vocabulary)


def _config(recipe: Recipe, vocabulary: int, labels: Sequence[str]) -> dict[str, object]:
    return {
        "architecture": "subword-run-bag",
        "vocabulary": vocabulary,
        "ngrams": recipe.ngrams,
        "buckets": recipe.buckets,
        "max_tokens": MAX_TOKENS,
        "labels": list(labels),
    }


def _postprocess(recipe: Recipe) -> dict[str, object]:
    return {
        "temperature": recipe.temperature,
        "top_k": _TOP_K,
        "threshold": recipe.threshold,
        "fallback": FALLBACK,
        "labels": LABELS,
    }


def _json(document: Mapping[str, object]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _write(path: Path, text: str) -> None:
    # The same bytes on every platform: no translation of line ends.
    path.write_text(text, encoding="utf-8", newline="\n")
