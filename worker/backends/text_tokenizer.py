"""A tokenizer of transformers as requests use it: always called in one way, so that no call leaves it set otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from worker.backend import Message
from worker.fault import FieldFault, RequestRefused


@dataclass(frozen=True, slots=True)
class TextTokenizer:
    """From texts and conversations to ids, and back."""

    tokenizer: Any

    @property
    def longest(self) -> int:
        """Tokens that the tokenizer says its model takes; a very large number where it says nothing."""
        return int(self.tokenizer.model_max_length)

    def encode(self, text: str) -> tuple[int, ...]:
        """Give the ids of a text that is to be continued."""
        return tuple(self.tokenizer(text)["input_ids"])

    def encode_chat(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Give the ids of a conversation, rendered by the chat template up to where the answer begins.

        Raises:
            RequestRefused: There is no template, or it refuses the conversation.
        """
        if self.tokenizer.chat_template is None:
            raise RequestRefused([FieldFault("messages", "this model has no chat template; ask for a completion")])
        from jinja2 import TemplateError

        conversation = [dict(message) for message in messages]
        try:
            rendered = self.tokenizer.apply_chat_template(
                conversation, tokenize=True, add_generation_prompt=True, return_dict=True
            )
        except TemplateError as error:
            raise RequestRefused([FieldFault("messages", f"the chat template refuses them: {error}")]) from error
        return tuple(rendered["input_ids"])

    def decode(self, ids: Sequence[int]) -> str:
        """Give the text of ids, without special tokens. Nothing is tidied up: what is read already cannot change."""
        text: str = self.tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return text
