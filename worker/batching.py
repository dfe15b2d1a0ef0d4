"""Answers texts of several requests in one call, without a timer: whoever comes while a batch computes is in the next.

What one text is answered does not depend on its batch: `ClassifierBackend.classify` gives each text exactly what it
would get alone (`backends/equal_batches.py` says how).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from threading import Lock

from worker.backend import ClassifierBackend, Inference

MOST_TEXTS = 16


class Batching:
    """A classifier whose callers share batches. Called by many threads; one of them computes at a time.

    Args:
        backend: Computes.
        most: Texts of one batch.
    """

    def __init__(self, backend: ClassifierBackend, most: int = MOST_TEXTS) -> None:
        self._backend, self._most = backend, most
        self._computing = Lock()
        self._filling = Lock()
        self._waiting: list[tuple[str, Future[Inference]]] = []

    @property
    def names(self) -> Mapping[str, Mapping[str, str]]:
        """What the labels are called."""
        return self._backend.names

    def classify(self, texts: Sequence[str]) -> list[Inference]:
        """Answer each text.

        Raises:
            IsolationBroken: Shared state was reached while its batch computed.
        """
        mine: list[Future[Inference]] = [Future() for _ in texts]
        with self._filling:
            self._waiting.extend(zip(texts, mine, strict=True))
        # Whoever gets the turn computes for all that wait; often one's own answer is there by then.
        while not all(each.done() for each in mine):
            with self._computing:
                self._compute_next()
        return [each.result() for each in mine]

    def _compute_next(self) -> None:
        with self._filling:
            batch, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
        if not batch:
            return
        try:
            inferences = self._backend.classify([text for text, _ in batch])
        except Exception as error:  # noqa: BLE001 - each caller of this batch raises it
            for _, answered in batch:
                answered.set_exception(error)
            return
        for (_, answered), inference in zip(batch, inferences, strict=True):
            answered.set_result(inference)
