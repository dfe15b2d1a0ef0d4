"""Tokenizer, model and post-processing of one bundle, put together once and shared by all requests."""

from __future__ import annotations

from dataclasses import dataclass

from inference_dna.inputs import hash_tokens
from worker.backend import Inference
from worker.bundle import Bundle, BundleRefused
from worker.classifier import Classifier, ModelRefused
from worker.postprocess import Postprocess
from worker.ranking import rank
from worker.tokenizer import MessageTokenizer, TokenizerRefused


@dataclass(frozen=True, slots=True)
class Engine:
    """Answers messages. It holds nothing that a request could change."""

    tokenizer: MessageTokenizer
    classifier: Classifier
    labels: tuple[str, ...]
    postprocess: Postprocess

    def infer(self, text: str) -> Inference:
        """Answer one message; the same message always gets the same answer."""
        ids = self.tokenizer.encode(text)
        return Inference(rank(self.classifier.score(ids), self.labels, self.postprocess), hash_tokens([ids]))


def load_engine(bundle: Bundle) -> Engine:
    """Load what was read.

    Raises:
        BundleRefused: A library cannot load its file, or model and labels do not fit.
    """
    try:
        tokenizer = MessageTokenizer(bundle.tokenizer)
        classifier = Classifier(bundle.model, outputs=len(bundle.labels))
    except (TokenizerRefused, ModelRefused) as error:
        raise BundleRefused(str(error)) from error
    return Engine(tokenizer, classifier, bundle.labels, bundle.postprocess)
