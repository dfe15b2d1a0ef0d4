"""A classifier in ONNX Runtime. It needs neither PyTorch nor transformers.

Each text is a batch of its own and one thread computes it, so no neighbour changes its sums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from inference_dna import guard
from inference_dna.probe import PROBE_TEXTS
from worker.backend import Inference
from worker.bundle import Bundle, read_bundle
from worker.engine import Engine, load_engine
from worker.measurement import measure


@dataclass(frozen=True, slots=True)
class OnnxClassifier:
    """Answers messages. It holds nothing that a request could change."""

    bundle: Bundle
    engine: Engine

    @property
    def names(self) -> Mapping[str, Mapping[str, str]]:
        """The names of each intent, by language."""
        return self.engine.postprocess.labels

    def classify(self, texts: Sequence[str]) -> list[Inference]:
        """Answer each text; the same text always gets the same answer."""
        return [self.engine.infer(text) for text in texts]

    def warm_up(self) -> None:
        """Score the probe: first calls allocate, and no client shall wait for that."""
        for text in PROBE_TEXTS:
            self.engine.classifier.score(self.engine.tokenizer.encode(text))

    def described(self, environ: Mapping[str, str]) -> guard.Worker:
        """Say how this process is measured."""
        return guard.Worker(measure=lambda _bind: measure(self.bundle, self.engine, environ).document)

    def reachable(self) -> Mapping[str, object]:
        """Tokenizer, session and post-processing hang on this value."""
        return {"backend": self}

    def frozen(self) -> Mapping[str, object]:
        """What is ours is frozen by itself."""
        return {}


def load_onnx_classifier(root: Path) -> OnnxClassifier:
    """Read and load a bundle.

    Raises:
        BundleRefused: A file is missing or broken, a library cannot load it, or model and labels do not fit.
    """
    bundle = read_bundle(root)
    return OnnxClassifier(bundle, load_engine(bundle))
