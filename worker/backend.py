"""What a worker needs of whatever computes: its start, two kinds of answers, and the errors that cross this border.

A backend is made once, holds nothing that a request could write to, and is shared by all threads. The HTTP surface
knows these protocols only; TorchScript, transformers and ONNX Runtime are behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from inference_dna.guard import Worker
from worker.generation import Allowed, Ended, GenerationRequest, Settings, Token
from worker.ranking import Answer

Message = Mapping[str, str]
"""One message of a conversation: `role` and `content`."""
Cancelled = Callable[[], bool]
"""Asked before each token; once it says yes, the generation ends within that token."""


class IsolationBroken(Exception):
    """A request reached what belongs to all of them: no answer is to be given (HTTP: 500), the worker is ok no more.

    `field` is the path of what changed, such as `model.generation_config.temperature`.
    """

    def __init__(self, field: str, change: str) -> None:
        super().__init__(f"The worker's state changed while it answered requests: {field} {change}.")
        self.field = field
        self.change = change


class Backend(Protocol):
    """What a start needs of either kind. It is warmed up before it is measured: only then are all libraries mapped."""

    def warm_up(self) -> None:
        """Let the model compute and drop what it gives: first calls allocate, and choose kernels.

        Code that answers requests has no part in it, so that the isolation guard can be sealed before that runs.
        """

    def described(self, environ: Mapping[str, str]) -> Worker:
        """Say how this process is measured and asked, for `inference_dna.guard` and for a start without a manifest.

        Args:
            environ: The environment of this process.
        """

    def reachable(self) -> Mapping[str, object]:
        """Name what a request can reach; the isolation guard compares all that hangs on it."""

    def frozen(self) -> Mapping[str, object]:
        """Name the objects of foreign classes whose attributes no request may set, each with its path."""


class TextBackend(Protocol):
    """Generates text, token by token."""

    @property
    def defaults(self) -> Settings:
        """What a request without settings gets."""

    @property
    def allowed(self) -> Allowed:
        """What a request may ask for."""

    @property
    def context(self) -> int:
        """Tokens that prompt and answer may have together."""

    def encode(self, text: str) -> tuple[int, ...]:
        """Give the ids of a text that is to be continued."""

    def encode_chat(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Give the ids of a conversation, rendered by the model's chat template up to where the answer begins.

        Raises:
            RequestRefused: The model has no chat template, or the template refuses the conversation.
        """

    def generate(self, request: GenerationRequest, cancelled: Cancelled) -> Iterator[Token | Ended]:
        """Generate one answer; the last item is `Ended`. Every `next` may come from another thread, one at a time.

        Raises:
            IsolationBroken: Instead of `Ended`, or at once.
        """


@dataclass(frozen=True, slots=True)
class Inference:
    """One answer and the hash of what the model was really fed, 64 hex."""

    answer: Answer
    input_hash: str


class ClassifierBackend(Protocol):
    """Tells which of its labels fits a text."""

    @property
    def names(self) -> Mapping[str, Mapping[str, str]]:
        """What each label is called, by language; it may have no name but itself."""

    def classify(self, texts: Sequence[str]) -> list[Inference]:
        """Answer each text with exactly what it would get alone.

        Raises:
            IsolationBroken: No answer is to be given.
        """
