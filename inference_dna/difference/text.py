"""Tells a difference of two manifests, as lines for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from inference_dna.canonical import Json
from inference_dna.difference.change import Change
from inference_dna.difference.diff import Difference, SectionDifference
from inference_dna.digest import ALGORITHM

MEANINGS = {
    "weights": "other weights answer: another model under the same name",
    "tokenizer": "the same text reaches the model as other tokens",
    "postprocess": "the same scores become other answers",
    "framework": "other code computes: answers may differ in the last digits or wholly",
    "hardware": "another machine or other operator libraries compute: sums may be rounded otherwise",
}
REPACKAGED = "the same tensors in other files: the same model packed anew, and still not what was promised"
UNMEASURED = "one side did not measure it: nothing can be said"
UNASKED = "only one side measured {fact}: whether that is the same cannot be said"
_HEX_SHOWN = 12


def difference_document(difference: Difference) -> dict[str, Json]:
    """Write a difference as JSON; `equal` says whether the runtimes are the same."""
    return {
        "equal": difference.is_equal,
        "subject": _documents(difference.subject),
        "bind": _documents(difference.bind),
        "sections": [_section_document(section) for section in difference.sections],
    }


def difference_lines(difference: Difference) -> Iterator[str]:
    """Write a difference for a person: the sections that differ with what changed in them, then the equal ones."""
    yield from (f"name         {change.sentence()}" for change in difference.subject)
    yield from (f"bind         {change.sentence()}" for change in difference.bind)
    for section in difference.differing:
        yield f"{section.section:12} {'differs' if section.is_proven else 'unknown'}: {meaning(section)}"
        yield f"    {'digest':8} {short(section.before)} -> {short(section.after)}"
        yield from (f"    {change.kind.value:8} {change.sentence()}" for change in section.changes)
    equal = [section.section for section in difference.sections if section.is_equal and section.is_measured]
    if equal:
        yield f"equal        {', '.join(equal)}"
    unmeasured = [section.section for section in difference.sections if section.is_equal and not section.is_measured]
    if unmeasured:
        yield f"not measured {', '.join(unmeasured)}"
    yield from (f"not measured {line}" for section in difference.sections if (line := _unasked_line(section)))
    yield from _evidence_lines(difference.sections)


def meaning(section: SectionDifference) -> str:
    """Say what a difference in this section means for the answers."""
    if not section.is_measured:
        return UNMEASURED
    if not section.is_proven:
        return UNASKED.format(fact=next(filter(None, section.unasked)))
    return REPACKAGED if section.is_repackaged else MEANINGS[section.section]


def short(digest: str | None) -> str:
    """Write a digest so that it fits a table."""
    return "not measured" if digest is None else f"{ALGORITHM}{digest[:_HEX_SHOWN]}…"


def _unasked_line(section: SectionDifference) -> str | None:
    """Say of which fact of a section nothing is known, whatever the digests say; None where all is known."""
    before, after = section.unasked
    if before is None and after is None:
        return None
    side = "on either side" if before and after else "on the first side" if before else "on the second side"
    return f"{side}: {before or after} ({section.section})"


def _evidence_lines(sections: Iterable[SectionDifference]) -> Iterator[str]:
    told = [(section.section, change) for section in sections for change in section.evidence]
    if told:
        yield "differs too, and decides nothing (evidence):"
    yield from (f"    {section:12} {change.sentence()}" for section, change in told)


def _section_document(section: SectionDifference) -> dict[str, Json]:
    return {
        "section": section.section,
        "equal": section.is_equal,
        "before": _digest(section.before),
        "after": _digest(section.after),
        "meaning": None if section.is_equal else meaning(section),
        "repackaged": section.is_repackaged,
        "proven": section.is_proven,
        "not_measured": {"before": section.unasked[0], "after": section.unasked[1]},
        "changes": _documents(section.changes),
        "evidence": _documents(section.evidence),
    }


def _digest(digest: str | None) -> str | None:
    return None if digest is None else ALGORITHM + digest


def _documents(changes: Iterable[Change]) -> list[Json]:
    return [change.document() for change in changes]
