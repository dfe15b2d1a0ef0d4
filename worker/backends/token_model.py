"""What every backend whose model gives token ids does alike: text in by a tokenizer, ids out as pieces of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from worker.backend import Cancelled, Message
from worker.backends.text_tokenizer import TextTokenizer
from worker.decoding import answer
from worker.generation import Ended, GenerationRequest, Token


class TokenModel:
    """A base to inherit from: its heir holds these members and says which ids a request gets."""

    __slots__ = ()

    if TYPE_CHECKING:  # an heir's fields; a value here would be taken for their default

        @property
        def tokenizer(self) -> TextTokenizer:
            """The bundle's tokenizer."""

        @property
        def end_ids(self) -> frozenset[int]:
            """Ids that end an answer."""

    def _tokens(self, request: GenerationRequest) -> Iterator[int]:
        """Give the ids that the model chooses, one after another."""
        raise NotImplementedError

    def encode(self, text: str) -> tuple[int, ...]:
        """Give the ids of a text that is to be continued."""
        return self.tokenizer.encode(text)

    def encode_chat(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Give the ids of a conversation.

        Raises:
            RequestRefused: There is no chat template, or it refuses the conversation.
        """
        return self.tokenizer.encode_chat(messages)

    def generate(self, request: GenerationRequest, cancelled: Cancelled) -> Iterator[Token | Ended]:
        """Generate one answer."""
        tokens, decode = self._tokens(request), self.tokenizer.decode
        return answer(tokens, request, decode=decode, end_ids=self.end_ids, cancelled=cancelled)
