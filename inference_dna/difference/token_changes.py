"""Explains a difference of two tokenizers by what they made of the probe (dna.md section 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from inference_dna.canonical import Json
from inference_dna.difference.change import Change, How, Kind
from inference_dna.measure.tokenizer import Probe, first_difference, recorded_probe
from inference_dna.shown import shown

_QUESTIONS = ("set", "texts")


def token_changes(before: Mapping[str, Json], after: Mapping[str, Json]) -> Iterator[Change]:
    """Compare the probes of two tokenizer sections.

    The first text that is encoded differently is named, with the place and both ids, where both sides recorded the ids.
    """
    first, second = before.get("probe"), after.get("probe")
    if first == second:
        return
    if not isinstance(first, Mapping) or not isinstance(second, Mapping):
        yield Change(Kind.TOKENS, How.CHANGED, "probe", first, second, "only one of the two tokenizers was asked")
        return
    recorded = recorded_probe(before), recorded_probe(after)
    for name in sorted({*first, *second}):
        if first.get(name) != second.get(name):
            detail = _detail(name, *recorded)
            yield Change(Kind.TOKENS, How.CHANGED, f"probe.{name}", first.get(name), second.get(name), detail)


def _detail(name: str, before: Probe | None, after: Probe | None) -> str:
    if name in _QUESTIONS:
        return "other texts were asked: the special tokens differ"
    if before is None or after is None:
        return "the ids themselves were not recorded"
    if name == "chat":
        return _chat_detail(before, after)
    found = first_difference(before, after)
    if found is None:
        return "texts that both were asked have equal ids"
    return f"text {shown(found.text)}, place {found.position}: {_id(found.first)} -> {_id(found.second)}"


def _chat_detail(before: Probe, after: Probe) -> str:
    if before.chat is None or after.chat is None:
        return "only one of the two renders conversations"
    place = next(
        (place for place, pair in enumerate(zip(before.chat, after.chat, strict=False)) if pair[0] != pair[1]),
        min(len(before.chat), len(after.chat)),
    )
    ids = (ids[place] if place < len(ids) else None for ids in (before.chat, after.chat))
    return f"rendered conversation, place {place}: {' -> '.join(map(_id, ids))}"


def _id(token: int | None) -> str:
    return "no id" if token is None else f"id {token}"
