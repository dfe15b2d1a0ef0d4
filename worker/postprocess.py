"""What turns a model's scores into an answer: values sealed in the bundle, read once, never changed.

No request and no environment variable reaches them; a version that shall answer otherwise is another version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from inference_dna.canonical import Json

LANGUAGES = ("zh", "en")
_MEMBERS = {"temperature", "top_k", "threshold", "fallback", "labels"}


class PostprocessRefused(Exception):
    """Values that cannot be used; the message is a sentence that names the member."""


@dataclass(frozen=True, slots=True)
class Postprocess:
    """Effective values of one version.

    `temperature` divides the scores. An answer below the confidence `threshold`, 0 to 1, is the intent `fallback`.
    `top_k` candidates are shown. `labels` gives each intent, the fallback included, a name in Chinese and English.
    """

    temperature: float
    top_k: int
    threshold: float
    fallback: str
    labels: Mapping[str, Mapping[str, str]]

    def document(self) -> dict[str, Json]:
        """The values as they stand in the genome, in the types that are used."""
        return {
            "temperature": self.temperature,
            "top_k": self.top_k,
            "threshold": self.threshold,
            "fallback": self.fallback,
            "labels": {intent: dict(names) for intent, names in self.labels.items()},
        }


def parse_postprocess(value: Json, intents: Sequence[str]) -> Postprocess:
    """Read the values of a bundle.

    Args:
        value: The document.
        intents: The model's outputs; each needs a name, and the fallback is none of them.

    Raises:
        PostprocessRefused: A member is missing, unknown, of another type or out of range.
    """
    if not isinstance(value, Mapping) or value.keys() != _MEMBERS:
        raise PostprocessRefused(f"Post-processing has exactly the members {', '.join(sorted(_MEMBERS))}.")
    fallback = value["fallback"]
    if not isinstance(fallback, str) or not fallback or fallback in intents:
        raise PostprocessRefused("`fallback` must name an intent that is none of the model's own.")
    return Postprocess(
        temperature=_number(value, "temperature", above=0.0, up_to=100.0),
        top_k=_count(value, "top_k", up_to=len(intents)),
        threshold=_number(value, "threshold", above=-1e-9, up_to=1.0),
        fallback=fallback,
        labels=_parse_labels(value["labels"], {*intents, fallback}),
    )


def _number(value: Mapping[str, Json], name: str, *, above: float, up_to: float) -> float:
    number = value[name]
    if isinstance(number, bool) or not isinstance(number, int | float) or not above < number <= up_to:
        raise PostprocessRefused(f"`{name}` must be a number up to {up_to:g}, not {number!r}.")
    return float(number)


def _count(value: Mapping[str, Json], name: str, *, up_to: int) -> int:
    count = value[name]
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= up_to:
        raise PostprocessRefused(f"`{name}` must be an integer from 1 to {up_to}, not {count!r}.")
    return count


def _parse_labels(value: Json, intents: set[str]) -> Mapping[str, Mapping[str, str]]:
    if not isinstance(value, Mapping) or value.keys() != intents:
        raise PostprocessRefused("`labels` must name every intent of the model and the fallback, and no other.")
    return MappingProxyType({intent: _parse_names(intent, value[intent]) for intent in sorted(intents)})


def _parse_names(intent: str, value: Json) -> Mapping[str, str]:
    if not isinstance(value, Mapping) or value.keys() != set(LANGUAGES):
        raise PostprocessRefused(f"The label of {intent} must have exactly {' and '.join(LANGUAGES)}.")
    names = {language: value[language] for language in LANGUAGES}
    if not all(isinstance(name, str) and name for name in names.values()):
        raise PostprocessRefused(f"The names of {intent} must be texts that are not empty.")
    return MappingProxyType({language: str(name) for language, name in names.items()})
