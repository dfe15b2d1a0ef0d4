"""Counts the tokens that begin a sequence, path by path (provenance.md section 3).

One path may add such a token that another path's template already has: both look right alone, and one model answers
worse on one of them. Only the leading ones are counted; the same token may stand inside a conversation by right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile

from inference_dna.measure.live_tokenizer import LiveTokenizer
from inference_dna.measure.tokenizer import Encode
from inference_dna.probe import PROBE_CHAT

COMPLETION, CHAT = "completion", "chat"
_TEXT = "Hello, world!"


def bos_counts(tokenizer: LiveTokenizer, paths: Mapping[str, Encode] | None = None) -> dict[str, int] | None:
    """Count the leading tokens per path; None for a model without such a token.

    Args:
        tokenizer: Its own two paths, completion and chat.
        paths: Further paths of the worker by name, such as `multimodal` or `offline`.

    Raises:
        Refused: A path failed.
    """
    if tokenizer.bos_id is None:
        return None
    answers = {COMPLETION: tokenizer.encode(_TEXT)}
    if tokenizer.render_chat is not None:
        answers[CHAT] = tokenizer.render_chat(PROBE_CHAT)
    answers |= {name: encode(_TEXT) for name, encode in (paths or {}).items()}
    return {name: _leading(ids, tokenizer.bos_id) for name, ids in answers.items()}


def bos_faults(counts: Mapping[str, int] | None, expected: int) -> tuple[str, ...]:
    """Say which paths begin a sequence otherwise than the model's card states.

    Args:
        counts: As counted; None says that the model has no such token.
        expected: How many the card states, one for most models.
    """
    if counts is None:
        return () if expected == 0 else ("The tokenizer has no token that begins a sequence, and the model needs one.",)
    return tuple(
        f"The path {path} begins a sequence with {count} such tokens, the model needs {expected}."
        for path, count in sorted(counts.items())
        if count != expected
    )


def _leading(ids: Sequence[int], bos_id: int) -> int:
    return sum(1 for _ in takewhile(lambda token: token == bos_id, ids))
