"""Chooses the next token from a model's scores. Pure: settings and chance are arguments, no processor keeps anything.

The order is the one that transformers and our packed generators use: penalty, temperature, top_k, top_p, draw.
"""

from __future__ import annotations

from typing import Any

from worker.generation import Settings


def next_token(torch: Any, scores: Any, known: Any, settings: Settings, draw: float) -> int:
    """Choose one token.

    Args:
        torch: The library.
        scores: float32 [vocabulary], of the place after the last known token.
        known: int64 [n], prompt and answer so far.
        settings: The request's own.
        draw: In [0, 1); not looked at without sampling.
    """
    if settings.repetition_penalty != 1.0:
        scores = _penalised(torch, scores, known, settings.repetition_penalty)
    if not settings.do_sample:
        return int(scores.argmax())
    likely = torch.softmax(_narrowed(torch, scores / settings.temperature, settings), dim=-1)
    # Likeliest first and equals in their order, so that one draw always falls on one token.
    ordered, places = torch.sort(likely, descending=True, stable=True)
    passed = int((ordered.cumsum(dim=-1) <= draw).sum())
    # The sum may end a rounding below 1: a draw above it falls on the last token that is possible at all.
    return int(places[min(passed, int((ordered > 0).sum()) - 1)])


def _penalised(torch: Any, scores: Any, known: Any, penalty: float) -> Any:
    seen = scores[known]
    return scores.scatter(0, known, torch.where(seen < 0, seen * penalty, seen / penalty))


def _narrowed(torch: Any, scores: Any, settings: Settings) -> Any:
    never = -float("inf")
    if settings.top_k > 0:
        least = torch.topk(scores, min(settings.top_k, scores.numel())).values[-1]
        scores = scores.masked_fill(scores < least, never)
    if settings.top_p < 1.0:
        ordered, places = torch.sort(scores, descending=False)
        unlikely = torch.softmax(ordered, dim=-1).cumsum(dim=-1) <= (1 - settings.top_p)
        unlikely[-1] = False
        scores = scores.masked_fill(unlikely.scatter(0, places, unlikely), never)
    return scores
