"""From endless token ids to one answer: where it ends, and with which text. Pure; every backend decodes through it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Literal

from worker.answer_text import AnswerText, Decode
from worker.backend import Cancelled
from worker.generation import Ended, GenerationRequest, Token


def answer(
    tokens: Iterator[int], request: GenerationRequest, *, decode: Decode, end_ids: Collection[int], cancelled: Cancelled
) -> Iterator[Token | Ended]:
    """Give the tokens of one answer with their texts, then how it ended.

    Args:
        tokens: The ids that the model chooses, one computation each; asked for no more than are needed.
        request: What was asked.
        decode: Gives the text of a sequence of ids, without special tokens.
        end_ids: With the first of these the model ends its answer.
        cancelled: Asked before each computation.
    """
    text, made = AnswerText(decode, request.settings.stop), 0

    def ended(reason: Literal["stop", "length", "cancelled"]) -> Ended:
        return Ended(reason, len(request.token_ids), made)

    while True:
        if cancelled():
            yield ended("cancelled")
            return
        token = next(tokens)
        made += 1
        is_end, is_last = token in end_ids, made >= request.settings.max_new_tokens
        piece = "" if is_end else text.add(token)
        if (is_end or is_last) and not text.is_stopped:
            piece += text.end()
        yield Token(token, piece)
        if is_end or text.is_stopped:
            yield ended("stop")
            return
        if is_last:
            yield ended("length")
            return
