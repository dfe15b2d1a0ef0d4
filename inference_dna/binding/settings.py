"""The settings that a packed generator carries as constants, taken from what a loaded model would really use."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from inference_dna.canonical import Json, Refused
from inference_dna.measure.generation import Generation

_UNBOUND = {
    "num_beams": 1, "num_return_sequences": 1, "no_repeat_ngram_size": 0, "encoder_no_repeat_ngram_size": 0,
    "encoder_repetition_penalty": 1.0, "length_penalty": 1.0, "min_length": 0, "min_new_tokens": None, "min_p": None,
    "top_h": None, "typical_p": 1.0, "epsilon_cutoff": 0.0, "eta_cutoff": 0.0, "guidance_scale": None,
    "stop_strings": None, "max_time": None, "sequence_bias": None, "suppress_tokens": None,
    "begin_suppress_tokens": None, "forced_bos_token_id": None, "forced_eos_token_id": None,
    "exponential_decay_length_penalty": None, "renormalize_logits": False, "remove_invalid_values": False,
    "watermarking_config": None, "prompt_lookup_num_tokens": None,
}  # fmt: skip
"""Settings that are not compiled in, with the value at which they do nothing; any other is refused, never dropped."""


@dataclass(frozen=True, slots=True)
class BoundSettings:
    """What is compiled in.

    Attributes:
        max_new_tokens: How many tokens one answer has at most.
        stop_ids: An answer ends with the first of these.
        do_sample: Whether a step draws; without it the likeliest token is taken and draws are not looked at.
        temperature: Scores are divided by it before a token is drawn; 1.0 does nothing.
        top_k: Only so many of the likeliest tokens are drawn from; 0 does nothing.
        top_p: Only the likeliest tokens that together reach this are drawn from; 1.0 does nothing.
        repetition_penalty: Makes tokens that stand in the sequence already less likely; 1.0 does nothing.
        bad_words: Sequences of ids that never come out; one id alone never comes out at all.
    """

    max_new_tokens: int
    stop_ids: tuple[int, ...]
    do_sample: bool = False
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    repetition_penalty: float = 1.0
    bad_words: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        if self.max_new_tokens < 1 or self.top_k < 0 or not 0 < self.top_p <= 1:
            raise Refused("max_new_tokens must be at least 1, top_k at least 0, top_p above 0 and at most 1.")
        if self.temperature <= 0 or self.repetition_penalty <= 0:
            raise Refused("temperature and repetition_penalty must be above 0.")
        if any(not word or min(word) < 0 for word in self.bad_words):
            raise Refused("bad_words must be sequences of at least one token id each; an id is never below 0.")

    def document(self) -> dict[str, Json]:
        """The settings as they stand in the archive."""
        return {**asdict(self), "stop_ids": list(self.stop_ids), "bad_words": [list(word) for word in self.bad_words]}


def bound_settings(generation: Generation, *, max_new_tokens: int | None = None) -> BoundSettings:
    """Take the effective values of a loaded model.

    Args:
        generation: As `read_generation` gives it.
        max_new_tokens: Needed where the model states none.

    Raises:
        Refused: A value is in effect that would not be compiled in, or no length is stated.
    """
    values = generation.values
    for name, idle in _UNBOUND.items():
        if values.get(name) not in (None, idle):
            raise Refused(f"The setting {name} is {values[name]!r}, which a packed generator does not carry; unset it.")
    length = max_new_tokens or values.get("max_new_tokens")
    if not isinstance(length, int):
        raise Refused("Neither the model nor the call states max_new_tokens; a packed generator needs it.")
    stops = _ids(values.get("eos_token_ids"))
    return BoundSettings(
        max_new_tokens=length,
        stop_ids=stops,
        do_sample=bool(values.get("do_sample")),
        temperature=_number(values.get("temperature")),
        top_k=int(_number(values.get("top_k"), 0)) if values.get("do_sample") else 0,
        top_p=_number(values.get("top_p")),
        repetition_penalty=_number(values.get("repetition_penalty")),
        bad_words=tuple(_bad_words(values.get("bad_words_ids"), stops)),
    )


def _bad_words(value: Json, stops: Iterable[int]) -> Iterable[tuple[int, ...]]:
    """Sequences in their order, without the stop tokens: the library never bans an end either."""
    words = [_ids(word) for word in value] if isinstance(value, list) else []
    return (word for word in words if word not in {(stop,) for stop in stops})


def _ids(value: Json) -> tuple[int, ...]:
    return tuple(token for token in value if isinstance(token, int)) if isinstance(value, list) else ()


def _number(value: Json, idle: float = 1.0) -> float:
    return float(value) if isinstance(value, int | float) else idle
