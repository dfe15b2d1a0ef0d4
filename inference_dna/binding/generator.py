"""The generator that is packed: a model and what is done to its scores, as one TorchScript module.

What `torch.jit.load(file)` gives needs none of the classes here. Its interface:

| member | takes | gives |
| --- | --- | --- |
| `greedy(ids)` | ids int64 [1, n], n at least 1 | the likeliest next token, int64 [1, 1] |
| `sampled(ids, draw)` | ids as above; draw a float in [0, 1) | the next token that the draw falls on, int64 [1, 1] |
| `step(ids, draw)` | as `sampled` | one of the two above, as `do_sample` was packed |
| `forward(ids, draws)` | draws float32 or float64 [at least max_new_tokens] | the new ids, int64 [1, m] |
| `max_new_tokens`, `stop_ids`, `do_sample` | | int, list[int], bool: when a caller of `step` ends |

`forward` ends with the first stop token, which it gives too, or after max_new_tokens; a greedy one looks at no draws.
Ids lie on the device of the parameters. The whole sequence goes in at each step, prompt and what was generated; the
module keeps nothing between calls, so any number of threads may call it. Repetition penalty and bad words hold for
both steps, temperature, `top_k` and `top_p` for the sampled one. Draws come from the caller (`draws.py` makes them from
a seed): no generator of random numbers is touched, and the same ids and draws give the same tokens. Other shapes are
refused with `torch.jit.Error`. Each token computes the whole sequence anew: this binds, it does not race.
"""

from __future__ import annotations

from typing import Any

from inference_dna.binding.settings import BoundSettings


def text_generator(scores: Any, settings: BoundSettings, processor: Any = None) -> Any:  # noqa: C901 - five short methods
    """Make the module, to be compiled.

    Classes stand inside functions, since a class needs the library to be defined. What they hold runs compiled, which
    is why coverage never sees it.

    Args:
        scores: A module from ids [1, n] to scores [1, n, vocabulary].
        settings: What is compiled in.
        processor: Own module from scores [1, vocabulary] and ids [1, n] to scores; runs before everything else.
    """
    import torch

    class TextGenerator(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = scores
            self.processor = processor or _unchanged()
            self.adjust = _adjustment(settings)
            self.choose = _choice(settings)
            self.do_sample = settings.do_sample
            self.max_new_tokens = settings.max_new_tokens
            self.stop_ids = torch.jit.Attribute(list(settings.stop_ids), list[int])

        def forward(self, ids: torch.Tensor, draws: torch.Tensor) -> torch.Tensor:  # pragma: no cover
            known = ids
            for place in range(self.max_new_tokens):
                draw = 0.0
                if self.do_sample:
                    draw = float(draws[place].item())
                token = self.step(known, draw)
                known = torch.cat([known, token], dim=1)
                if int(token.item()) in self.stop_ids:
                    break
            return known[:, ids.size(1) :]

        @torch.jit.export
        def step(self, ids: torch.Tensor, draw: float) -> torch.Tensor:  # pragma: no cover
            return self.sampled(ids, draw) if self.do_sample else self.greedy(ids)

        @torch.jit.export
        def greedy(self, ids: torch.Tensor) -> torch.Tensor:  # pragma: no cover
            return torch.argmax(self.adjusted(ids), dim=-1, keepdim=True)

        @torch.jit.export
        def sampled(self, ids: torch.Tensor, draw: float) -> torch.Tensor:  # pragma: no cover
            chosen: torch.Tensor = self.choose(self.adjusted(ids), draw)
            return chosen

        def adjusted(self, ids: torch.Tensor) -> torch.Tensor:  # pragma: no cover
            if ids.dim() != 2 or ids.size(0) != 1 or ids.size(1) < 1:
                raise ValueError("ids must be one sequence of at least one token: [1, n].")
            with torch.no_grad():
                scores = self.model(ids)[:, -1].float()
                adjusted: torch.Tensor = self.adjust(self.processor(scores, ids), ids)
            return adjusted

    return TextGenerator()


def _unchanged() -> Any:
    import torch

    class Unchanged(torch.nn.Module):
        def forward(self, scores: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:  # pragma: no cover
            return scores

    return Unchanged()


def _adjustment(settings: BoundSettings) -> Any:
    """What is done to the scores whether the token is drawn or not: the penalty for what was said, then bad words."""
    import torch

    class Adjustment(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.repetition_penalty = settings.repetition_penalty
            self.bad_words = torch.jit.Attribute([list(word) for word in settings.bad_words], list[list[int]])

        def forward(self, scores: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:  # pragma: no cover
            if self.repetition_penalty != 1.0:
                seen = torch.gather(scores, 1, ids)
                seen = torch.where(seen < 0, seen * self.repetition_penalty, seen / self.repetition_penalty)
                scores = scores.scatter(1, ids, seen)
            banned: list[int] = []
            said: list[int] = ids[0].tolist()
            for word in self.bad_words:
                begun = len(word) - 1
                if begun <= len(said) and said[len(said) - begun :] == word[:begun]:
                    banned.append(word[begun])
            if len(banned) > 0:
                scores = scores.index_fill(1, torch.tensor(banned, device=scores.device), -float("inf"))
            return scores

    return Adjustment()


def _choice(settings: BoundSettings) -> Any:
    """The token that a draw in [0, 1) falls on, among those that are likely enough."""
    import torch

    class Choice(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.temperature = settings.temperature
            self.top_k = settings.top_k
            self.top_p = settings.top_p

        def forward(self, scores: torch.Tensor, draw: float) -> torch.Tensor:  # pragma: no cover
            if not (draw >= 0.0 and draw < 1.0):
                raise ValueError("A draw must be at least 0 and below 1.")
            # Likeliest first and equals in their order, so that one draw always falls on one token.
            likely = torch.softmax(self.narrowed(scores / self.temperature), dim=-1)
            ordered, places = torch.sort(likely, descending=True, stable=True)
            passed = (ordered.cumsum(dim=-1) <= draw).sum(dim=-1, keepdim=True)
            # The sum may end a rounding below 1: a draw above it falls on the last token that is possible at all.
            last = (ordered > 0).sum(dim=-1, keepdim=True) - 1
            return torch.gather(places, 1, torch.minimum(passed, last))

        def narrowed(self, scores: torch.Tensor) -> torch.Tensor:  # pragma: no cover
            if self.top_k > 0:
                least = torch.topk(scores, min(self.top_k, scores.size(-1))).values[:, -1:]
                scores = scores.masked_fill(scores < least, -float("inf"))
            if self.top_p < 1.0:
                ordered, places = torch.sort(scores, descending=False)
                unlikely = torch.softmax(ordered, dim=-1).cumsum(dim=-1) <= (1 - self.top_p)
                unlikely[:, -1:] = False
                scores = scores.masked_fill(unlikely.scatter(1, places, unlikely), -float("inf"))
            return scores

    return Choice()
