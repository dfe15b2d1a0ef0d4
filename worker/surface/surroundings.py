"""What the surfaces are handed. They share this and nothing else, and change none of it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from http import HTTPStatus

from inference_dna.measure.healthz import Served
from inference_dna.serving.standing import Standing
from worker.backend import ClassifierBackend, TextBackend
from worker.lane import Lane
from worker.lifecycle import Loaded
from worker.problem import RETRY_S, Problem


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The state, the threads, time and chance.

    Attributes:
        standing: What may be said of the worker.
        loaded_now: Gives what answers at this moment, None while nothing does.
        lane: The threads.
        stalled_s: A client that is there and takes nothing of a stream for so long is treated as one that left.
        delay_s: Waited before each answer and each event, for demonstrations and load tests; it changes no answer.
        now_s: Seconds since 1970.
        new_id: A text that no other answer has.
    """

    standing: Standing
    loaded_now: Callable[[], Loaded | None]
    lane: Lane
    _: KW_ONLY
    stalled_s: float = 60.0
    delay_s: float = 0.0
    now_s: Callable[[], float] = time.time  # noqa: TID251 - the worker's own clock, to be replaced in tests
    new_id: Callable[[], str] = lambda: secrets.token_hex(12)

    @property
    def served(self) -> Served:
        """What the worker is called."""
        return self.standing.served

    def loaded(self) -> Loaded:
        """What answers.

        Raises:
            Problem: 503 as long as nothing does.
        """
        loaded = self.loaded_now()
        if loaded is None:
            reason = self.standing.state.reason
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, "not_ready", reason, retry_s=RETRY_S)
        return loaded

    def text(self) -> TextBackend:
        """The language model.

        Raises:
            Problem: 404 where there is none, 503 while it is loaded.
        """
        backend = self.loaded().text
        if backend is None:
            detail = f"{self.served.model_id} tells which label fits a text and writes none; ask POST /generate."
            raise Problem(HTTPStatus.NOT_FOUND, "no_language_model", detail)
        return backend

    def classifier(self) -> ClassifierBackend | None:
        """The classifier; None where the model is a language model.

        Raises:
            Problem: 503 while it is loaded.
        """
        return self.loaded().classifier
