"""What a generation is asked and what it says: frozen values. No request can change what another one is given.

A bundle has one `Settings` value, its defaults. `merge` puts what a request asks beside it and gives a fresh value,
which travels as an argument until the last token; nothing is ever written back.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal

from worker.fault import FieldFault, RequestRefused

INT64_END = 2**63
_LEAST_TEMPERATURE = 1e-6
"""Below it no token but the likeliest has a chance, and scores that are divided by it may be no numbers any more."""
_LEAST_PENALTY = 0.01
"""As with the temperature: scores are divided by it."""
MOST_STOPS = 16
LONGEST_STOP = 256
"""Characters of one stop sequence: so much text is held back at most."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How one answer is made. The values here are the ones that change nothing: greedy, no penalty, no stop.

    Attributes:
        max_new_tokens: Tokens of the answer at most, its end token included.
        temperature: Scores are divided by it; 0 takes the likeliest token each time.
        top_p: Keep the likeliest tokens that together reach this probability; 1 keeps all.
        top_k: Keep so many of the likeliest tokens; 0 keeps all.
        repetition_penalty: Makes tokens that were there already less likely; 1 does nothing.
        seed: The same seed draws the same tokens; None draws anew each time.
        stop: The answer ends before the first of these texts.
    """

    max_new_tokens: int = 256
    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    repetition_penalty: float = 1.0
    seed: int | None = None
    stop: tuple[str, ...] = ()

    @property
    def do_sample(self) -> bool:
        """Say whether chance has a part in it."""
        return self.temperature >= _LEAST_TEMPERATURE


NAMES = tuple(field.name for field in fields(Settings))
"""Every setting a request could ask for."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """Which settings a bundle leaves to a request, and how many new tokens it grants at most."""

    names: frozenset[str] = frozenset(NAMES)
    most_new_tokens: int = 4096


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """One request in the model's own terms."""

    token_ids: tuple[int, ...]
    settings: Settings


@dataclass(frozen=True, slots=True)
class Token:
    """One new token. The texts of an answer's tokens, one after another, are the answer's text.

    A token's text may be empty: half a character and what may become a stop sequence wait for what comes next. The end
    token is one too; its text is what was still waiting.
    """

    id: int
    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The last thing a generation says. `stop` is the model's end token or a stop sequence of the request."""

    reason: Literal["stop", "length", "cancelled"]
    prompt_tokens: int
    completion_tokens: int


def merge(defaults: Settings, asked: Mapping[str, object], allowed: Allowed) -> Settings:
    """Give the settings of one request: the defaults, with what it asks for in their place.

    Args:
        defaults: The bundle's.
        asked: Values by the names of `Settings`, as they came from outside; None asks for nothing. `stop` may be one
            text or a list.
        allowed: What the bundle leaves to requests.

    Raises:
        RequestRefused: With every field that is unknown, not allowed, of a wrong type or out of range.
    """
    faults: list[FieldFault] = []
    taken: dict[str, object] = {}
    for name, value in asked.items():
        if value is None and name in NAMES:
            continue
        try:
            taken[name] = _read(name, value, allowed)
        except ValueError as fault:
            faults.append(FieldFault(name, str(fault)))
    if faults:
        raise RequestRefused(faults)
    return replace(defaults, **taken)  # type: ignore[arg-type]  # each value was read by its own name


def fit(token_ids: Sequence[int], settings: Settings, *, context: int, field: str) -> GenerationRequest:
    """Put a prompt and its settings together; the answer gets the room that the prompt leaves.

    Args:
        token_ids: The prompt.
        settings: As `merge` gives them.
        context: How many tokens prompt and answer may have together.
        field: The request's field that holds the prompt, for the fault.

    Raises:
        RequestRefused: The prompt is empty, or leaves no room for an answer.
    """
    room = context - len(token_ids)
    if not token_ids:
        raise RequestRefused([FieldFault(field, "must hold at least one token")])
    if room < 1:
        raise RequestRefused([FieldFault(field, f"has {len(token_ids)} tokens; this model takes {context - 1}")])
    return GenerationRequest(tuple(token_ids), replace(settings, max_new_tokens=min(settings.max_new_tokens, room)))


def _read(name: str, value: object, allowed: Allowed) -> object:
    if name not in NAMES:
        raise ValueError("is no setting of this worker")
    if name not in allowed.names:
        raise ValueError("is set by this model version and cannot be changed by a request")
    match name:
        case "max_new_tokens":
            return _whole(value, 1, allowed.most_new_tokens)
        case "temperature":
            return _number(value, 0.0, 2.0)
        case "top_p":
            return _number(value, 0.0, 1.0, above=True)
        case "top_k":
            return _whole(value, 0, 1_000_000)
        case "repetition_penalty":
            return _number(value, _LEAST_PENALTY, 10.0)
        case "seed":
            return _whole(value, -INT64_END, INT64_END - 1)
        case _:
            return _stops(value)


def _whole(value: object, least: int, most: int) -> int:
    # bool is an int to Python, and no number to whoever wrote `true`.
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"must be an integer from {least} to {most}")
    return value


def _number(value: object, least: float, most: float, *, above: bool = False) -> float:
    # Compared before anything else: a whole number may be too large for a float.
    if not isinstance(value, int | float) or isinstance(value, bool) or not -math.inf < value < math.inf:
        raise ValueError("must be a number")
    if not least <= value <= most or (above and value == least):
        raise ValueError(f"must be {'above' if above else 'at least'} {least:g} and at most {most:g}")
    return float(value)


def _stops(value: object) -> tuple[str, ...]:
    stops = [value] if isinstance(value, str) else value
    if not isinstance(stops, list | tuple) or len(stops) > MOST_STOPS:
        raise ValueError(f"must be a text, or a list of at most {MOST_STOPS} texts")
    if not all(isinstance(stop, str) and 1 <= len(stop) <= LONGEST_STOP for stop in stops):
        raise ValueError(f"each must be a text of 1 to {LONGEST_STOP} characters")
    return tuple(stops)
