"""What a genome does not know because nobody was asked: of that nobody can say that it is equal, or that it differs.

A digest has to differ where one side asked and the other did not (dna.md section 4). Whoever explains the difference
asks here first.
"""

from __future__ import annotations

from collections.abc import Mapping

from inference_dna.canonical import Json

EVIDENCE = "unasked"
"""Member of a section's evidence that says why nobody was asked."""
AT_REST, FILES = "at-rest", "files"
"""The engine of a model that none had loaded; the kind of a section that is told by its files alone."""


def unasked(genome: Mapping[str, Json], section: str) -> str | None:
    """Name the fact of a section that was not measured, in words; None where nothing is missing.

    Args:
        genome: A genome; sections that it lacks are missing as a whole and are no business of this function.
        section: One of the five.
    """
    held = _members(genome.get(section))
    if section == "weights":
        load = _members(held.get("load"))
        return "the precision in memory" if "dtype" in load and load["dtype"] is None else None
    if section == "tokenizer":
        return "what it makes of text" if "probe" in held and held["probe"] is None else None
    if section == "postprocess":
        is_told = held.get("kind") != FILES and ("values" not in held or held["values"] is not None)
        return None if is_told else "the values a request without parameters gets"
    engine = _members(_members(genome.get("framework")).get("engine"))
    return "what an engine runs on" if engine.get("name") == AT_REST else None


def _members(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}
