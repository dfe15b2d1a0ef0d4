"""What an attestor asks of an engine; the engines differ in how, never in what (provenance.md section 7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from inference_dna.attest.answers import Answers
from inference_dna.canonical import Json

GOLDEN_PROMPT = "The capital of France is"


@dataclass(frozen=True, slots=True)
class Told:
    """What an engine says of itself.

    Attributes:
        version: Its version; None where only its package tells.
        model: What it calls the model it serves.
        dtype: How it holds the weights; None where it does not say.
        values: Effective defaults of a request; None where it offers no way to read them.
        flags: Settings as it resolved them; empty where it does not say.
        root: Path it says it loaded; None where it does not say.
        adapters: Paths of the adapters it lists, by name.
        evidence: Further facts for people.
    """

    version: str | None
    model: str
    dtype: str | None = None
    values: Json = None
    flags: Mapping[str, Json] = field(default_factory=dict)
    root: str | None = None
    adapters: Mapping[str, str] = field(default_factory=dict)
    evidence: Mapping[str, Json] = field(default_factory=dict)


Tell = Callable[[Answers, str | None], Told]
"""Asks an engine what it is; is handed what it calls the model, None where it is to be found out."""
Labels = Callable[[Answers], Json]
"""Asks for what changes when an engine takes other weights: names, adapters, weight version. They prove nothing, but a
change of them is one."""
Encode = Callable[[Answers, str, str], Sequence[int] | None]
"""Answers, model and text, to ids; None for an engine without a way."""
Render = Callable[[Answers, str, Sequence[Mapping[str, str]]], Sequence[int] | None]
"""Answers, model and conversation, to ids; None for an engine without a way."""
Golden = Callable[[Answers, str], Json]
"""Asks for one token, greedy; the answer as evidence, None for an engine without a way."""


@dataclass(frozen=True, slots=True)
class Engine:
    """One kind of engine.

    Attributes:
        package: Its Python package; None for one that is a program.
        library: Its own interpreter can be asked for token ids, because its server cannot.
        reloads: It can take other weights while it runs, and its labels say when.
        variables: Options that it takes from environment variables of that name, too, whatever their case.
    """

    name: str
    tell: Tell
    labels: Labels
    encode: Encode
    render: Render
    golden: Golden
    package: str | None = None
    library: bool = False
    reloads: bool = False
    variables: tuple[str, ...] = ()
