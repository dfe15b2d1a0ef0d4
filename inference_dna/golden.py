"""A golden input: token ids that were fed to the model once, and the ids it answered, kept in the manifest.

They are evidence of the postprocess section (`golden`), so they are signed with the manifest and enter no digest: an
answer that differs is a finding of its own, with the place where it parts (provenance.md section 10).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from inference_dna.canonical import Json, Refused, parse_json

SECTION, MEMBER = "postprocess", "golden"
MOST_NEW_TOKENS = 16

Generate = Callable[[Sequence[int], int], Sequence[int]]
"""Prompt ids and how many new ids at most, to the new ids; greedy, without randomness, alone in its batch."""


@dataclass(frozen=True, slots=True)
class Golden:
    """Ids that go in and ids that must come out."""

    input_ids: tuple[int, ...]
    output_ids: tuple[int, ...]

    def document(self) -> dict[str, Json]:
        """The member `golden` of the evidence."""
        return {"input_ids": list(self.input_ids), "output_ids": list(self.output_ids)}


@dataclass(frozen=True, slots=True)
class Parting:
    """Where an answer leaves the golden one: the place, and the id on each side (None: that side has ended)."""

    place: int
    promised: int | None
    measured: int | None

    def sentence(self) -> str:
        """The parting as a sentence part; early ones point to weights, tokenizer or template, late ones to rounding."""
        return f"token {self.place} is {_shown(self.measured)} instead of {_shown(self.promised)}"


def parse_golden(text: str | bytes, generate: Generate | None = None) -> Golden:
    """Read a golden input.

    Args:
        text: `{"input_ids": [...], "output_ids": [...]}`; without the second the model is asked now.
        generate: The model, None where it cannot be asked.

    Raises:
        Refused: The text is anything else, or there is neither an answer nor a model.
    """
    document = parse_json(text)
    if not isinstance(document, Mapping) or document.keys() - {"input_ids", "output_ids"}:
        raise Refused("A golden input has the members input_ids and output_ids, and no other.")
    input_ids = _ids(document, "input_ids")
    if "output_ids" in document:
        return Golden(input_ids, _ids(document, "output_ids"))
    if generate is None:
        raise Refused("The golden input has no output_ids, and no engine is here that could make them.")
    return record(generate, input_ids)


def record(generate: Generate, input_ids: Sequence[int]) -> Golden:
    """Ask a model twice and keep its answer.

    Raises:
        Refused: It answered nothing, or differently the second time: such an answer can be no reference.
    """
    first = tuple(generate(input_ids, MOST_NEW_TOKENS))
    if not first:
        raise Refused("The model answered the golden input with nothing.")
    if tuple(generate(input_ids, MOST_NEW_TOKENS)) != first:
        raise Refused("The model answered the golden input differently the second time; it can be no reference.")
    return Golden(tuple(input_ids), first)


def golden_of(genome: Mapping[str, Json]) -> Golden | None:
    """Find the golden input of a genome; None where it has none.

    Raises:
        Refused: There is one and it cannot be read.
    """
    section = genome.get(SECTION)
    evidence = section.get("evidence") if isinstance(section, Mapping) else None
    found = evidence.get(MEMBER) if isinstance(evidence, Mapping) else None
    if found is None:
        return None
    if not isinstance(found, Mapping):
        raise Refused("The manifest's golden input is no object.")
    return Golden(_ids(found, "input_ids"), _ids(found, "output_ids"))


def with_golden(genome: Mapping[str, Json], golden: Golden) -> dict[str, Json]:
    """Give the genome with a golden input; no digest changes."""
    section = genome[SECTION]
    members = dict(section) if isinstance(section, Mapping) else {}
    evidence = members.get("evidence")
    held = dict(evidence) if isinstance(evidence, Mapping) else {}
    return {**genome, SECTION: {**members, "evidence": {**held, MEMBER: golden.document()}}}


def parting(golden: Golden, answered: Sequence[int]) -> Parting | None:
    """Find the first place where an answer differs from the golden one; None where it is the same."""
    promised, measured = golden.output_ids, tuple(answered)
    for place in range(max(len(promised), len(measured))):
        pair = _at(promised, place), _at(measured, place)
        if pair[0] != pair[1]:
            return Parting(place, *pair)
    return None


def _ids(members: Mapping[str, Json], name: str) -> tuple[int, ...]:
    value = members.get(name)
    if not isinstance(value, list | tuple) or not value or not {type(token) for token in value} <= {int}:
        raise Refused(f"The golden input needs `{name}`, a list of token ids that is not empty.")
    return tuple(value)


def _at(ids: Sequence[int], place: int) -> int | None:
    return ids[place] if place < len(ids) else None


def _shown(token: int | None) -> str:
    return "no token" if token is None else str(token)
