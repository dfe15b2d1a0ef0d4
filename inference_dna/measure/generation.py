"""What a request without parameters gets from a transformers model: values, processors and criteria after all merging.

The library is asked, not imitated (provenance.md section 1: effective beats requested). `generate` runs up to the point
where it would begin to decode and hands over what it has made; not one token is computed. Lengths are those of a prompt
of one token, for the library adds the prompt's length to some of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inference_dna.canonical import Json, Refused
from inference_dna.measure.code.plain import plain

_FLOATS = frozenset({
    "assistant_confidence_threshold", "diversity_penalty", "encoder_repetition_penalty", "epsilon_cutoff", "eta_cutoff",
    "guidance_scale", "length_penalty", "max_time", "min_p", "repetition_penalty", "temperature", "top_h", "top_p",
    "typical_p",
})  # fmt: skip
"""What the library computes with as floats, however the file wrote it: 1 and 1.0 are one temperature."""
_SAYS_WHO_WROTE_IT = frozenset({"transformers_version"})
_IDS = {"eos_token_id": "eos_token_ids"}


@dataclass(frozen=True, slots=True)
class Generation:
    """Effective values by name, and the objects that run, each list in the order in which they run."""

    values: Mapping[str, Json]
    processors: tuple[Any, ...]
    criteria: tuple[Any, ...]


def read_generation(
    model: Any, tokenizer: Any, *, defaults: Mapping[str, Any], processors: Sequence[Any] = ()
) -> Generation:
    """Ask a loaded model what it would decode with.

    Args:
        model: A transformers model that can generate.
        tokenizer: Its tokenizer; stop strings need it.
        defaults: What the worker itself gives to `generate` for a request without parameters; for a model that reads
            no tokens, some input under the model's own name for it, such as `input_features`.
        processors: The worker's own logits processors.

    Raises:
        Refused: The library would refuse such a request, or does not hand over what it has made.
    """
    import torch

    handed: list[tuple[Any, Any, Any]] = []

    def instead_of_decoding(_: Any, input_ids: Any, **prepared: Any) -> Any:
        handed.append((prepared["generation_config"], prepared["logits_processor"], prepared["stopping_criteria"]))
        return input_ids

    stop_strings = _stop_strings(model, defaults)
    # A function that is handed the decoding is not handed the tokenizer, without which stop strings are refused.
    asked = {**_prompt(torch, model), **defaults, "stop_strings": None}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.generate(**asked, logits_processor=list(processors), custom_generate=instead_of_decoding)
    # The library refuses in many ways of its own; each is the answer that a request would get.
    except Exception as error:
        raise Refused(f"The model cannot be asked how it would decode: {type(error).__name__}: {error}") from error
    if not handed:
        raise Refused("The model decoded without handing over its values; this needs transformers 5 or later.")
    config, made, criteria = handed[0]
    stops = _stop_criteria(stop_strings, tokenizer)
    values = {**_values(config), "stop_strings": plain(stop_strings)}
    return Generation(values, tuple(made), (*criteria, *stops))


def _prompt(torch: Any, model: Any) -> dict[str, Any]:
    """One token for a model that reads tokens; others read what `defaults` brings under the model's own name for it."""
    if model.main_input_name != "input_ids":
        return {}
    prompt = torch.zeros((1, 1), dtype=torch.long, device=model.device)
    return {"input_ids": prompt, "attention_mask": torch.ones_like(prompt)}


def _stop_strings(model: Any, defaults: Mapping[str, Any]) -> list[str] | None:
    """The one value that is merged here: argument, then the worker's configuration, then the model's."""
    given = defaults.get("generation_config")
    places = (defaults, {} if given is None else vars(given), vars(model.generation_config))
    found = next((stops for place in places if (stops := place.get("stop_strings")) is not None), None)
    return [found] if isinstance(found, str) else found


def _stop_criteria(stop_strings: list[str] | None, tokenizer: Any) -> tuple[Any, ...]:
    if not stop_strings:
        return ()
    from transformers import StopStringCriteria

    return (StopStringCriteria(tokenizer, stop_strings),)


def _values(config: Any) -> dict[str, Json]:
    kept = {name: value for name, value in vars(config).items() if not name.startswith("_")}
    values = {_IDS.get(name, name): _value(name, kept[name]) for name in sorted(kept.keys() - _SAYS_WHO_WROTE_IT)}
    return {**values, "mode": str(config.get_generation_mode().value)}


def _value(name: str, value: Any) -> Json:
    if name in _FLOATS and isinstance(value, int):
        return plain(float(value))
    if name in _IDS:
        # One id or several are one kind of fact, and their order decides nothing.
        return sorted({int(token) for token in ([value] if isinstance(value, int) else value or ())})
    return plain(value)
