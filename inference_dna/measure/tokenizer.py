"""Measures a tokenizer: its files and what it really does to the probe texts (provenance.md section 3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from inference_dna.canonical import Json, Refused
from inference_dna.files import FileEntry
from inference_dna.measure.places import RULE
from inference_dna.measure.unasked import EVIDENCE, FILES
from inference_dna.probe import PROBE_CHAT, PROBE_SET, PROBE_TEXTS, ids_digest, texts_digest

Encode = Callable[[str], Sequence[int]]
"""Text to ids through the path that requests take, special tokens as that path adds them."""

RenderChat = Callable[[Sequence[Mapping[str, str]]], Sequence[int]]
"""Conversation to ids through the chat path."""

CHAT = "the probe conversation"
"""How a difference on the chat path is named."""


@dataclass(frozen=True, slots=True)
class Probe:
    """The texts that were asked and the ids that came; `chat` is None for a worker without a chat path."""

    texts: tuple[str, ...]
    ids: tuple[tuple[int, ...], ...]
    chat: tuple[int, ...] | None = None

    def document(self) -> dict[str, Json]:
        """The member `probe` of the tokenizer section."""
        return {
            "set": PROBE_SET,
            "texts": texts_digest(self.texts),
            "ids": ids_digest(self.ids),
            "chat": None if self.chat is None else ids_digest([self.chat]),
        }

    def evidence(self) -> dict[str, Json]:
        """The ids themselves, for the report of a difference; the set's own texts are known and left out."""
        return {
            "special": list(self.texts[len(PROBE_TEXTS) :]),
            "ids": [list(ids) for ids in self.ids],
            "chat": None if self.chat is None else list(self.chat),
        }


@dataclass(frozen=True, slots=True)
class ProbeDifference:
    """Where two tokenizers part: the text, the place in its ids, and the id of each (None: no id there)."""

    text: str
    position: int
    first: int | None
    second: int | None


def probe(encode: Encode, *, special_tokens: Mapping[str, int], render_chat: RenderChat | None = None) -> Probe:
    """Ask a tokenizer the texts of `probe/1`, its special tokens behind them in id order.

    Args:
        encode: The live path from text to ids.
        special_tokens: The model's special tokens with their ids.
        render_chat: The live path from a conversation to ids, None where there is none.

    Raises:
        Refused: An answer is no list of integers, or a text got two different answers. What `encode` itself raises
            passes through.
    """
    texts = (*PROBE_TEXTS, *sorted(special_tokens, key=lambda token: (special_tokens[token], token)))
    ids = tuple(_integers(text, encode(text)) for text in texts)
    # Subword sampling left on in serving is a fault of its own, and no digest could be taken of it.
    if any(_integers(text, encode(text)) != answer for text, answer in zip(texts, ids, strict=True)):
        raise Refused("The tokenizer answered the same text differently twice; switch its sampling off.")
    chat = None if render_chat is None else _integers(CHAT, render_chat(PROBE_CHAT))
    return Probe(texts, ids, chat)


def first_difference(first: Probe, second: Probe) -> ProbeDifference | None:
    """Find the first text both were asked that they encode differently; the conversation comes last."""
    answers = dict(zip(second.texts, second.ids, strict=True))
    for text, ids in zip(first.texts, first.ids, strict=True):
        other = answers.get(text, ids)
        if other != ids:
            return _parting(text, ids, other)
    if first.chat is None or second.chat is None or first.chat == second.chat:
        return None
    return _parting(CHAT, first.chat, second.chat)


def recorded_probe(section: Mapping[str, Json]) -> Probe | None:
    """Read back the ids that a tokenizer section carries as evidence.

    Returns:
        None where the section has none, or where they are not those that its digest covers: evidence may be edited.
    """
    evidence = section.get("evidence")
    recorded = evidence.get("probe") if isinstance(evidence, Mapping) else None
    if not isinstance(recorded, Mapping):
        return None
    try:
        answers = _parse_recorded(recorded)
        return answers if answers.document() == section.get("probe") else None
    except (Refused, TypeError):
        return None


def tokenizer_section(
    files: Sequence[FileEntry],
    answers: Probe,
    *,
    kind: str,
    settings: Mapping[str, Json],
    evidence: Mapping[str, Json] | None = None,
) -> dict[str, Json]:
    """Write the tokenizer section.

    Args:
        files: The tokenizer files of the folder that was loaded; none where the tokenizer is inside the weights.
        answers: What the loaded tokenizer answered.
        kind: `huggingface-fast`, `wordpiece`.
        settings: What the path adds or cuts: special tokens, maximum length, truncation side.
        evidence: Facts for people, such as the library's version and the vocabulary's size.
    """
    # A list of files has at least one: a tokenizer without files of its own has no such member.
    held: dict[str, Json] = {"rule": RULE, "files": [entry.document() for entry in files]} if files else {}
    return {
        "kind": kind,
        **held,
        "probe": answers.document(),
        "settings": dict(settings),
        "evidence": {**(evidence or {}), "probe": answers.evidence()},
    }


def unasked_section(files: Sequence[FileEntry], why: str) -> dict[str, Json]:
    """Write the section of a tokenizer that nobody asked: what it makes of text is null, and never equal to an answer.

    Args:
        files: As in `tokenizer_section`.
        why: Why nobody asked it, part of a sentence.
    """
    unknown: dict[str, Json] = {"probe": None, "settings": None, "evidence": {EVIDENCE: why}}
    if not files:
        return {"kind": "embedded", **unknown}
    return {"kind": FILES, "rule": RULE, "files": [entry.document() for entry in files], **unknown}


def _parse_recorded(recorded: Mapping[str, Json]) -> Probe:
    special, ids, chat = recorded.get("special"), recorded.get("ids"), recorded.get("chat")
    texts = (*PROBE_TEXTS, *cast("list[str]", special))
    answers = tuple(tuple(sequence) for sequence in cast("list[list[int]]", ids))
    if len(answers) != len(texts):
        raise Refused("The recorded ids are not as many as the texts.")
    return Probe(texts, answers, None if chat is None else tuple(cast("list[int]", chat)))


def _integers(text: str, ids: Sequence[int]) -> tuple[int, ...]:
    if not {type(token) for token in ids} <= {int}:
        raise Refused(f"The tokenizer answered {text!a} with something that is no integer.")
    return tuple(ids)


def _parting(text: str, first: tuple[int, ...], second: tuple[int, ...]) -> ProbeDifference:
    shared = min(len(first), len(second))
    position = next((place for place in range(shared) if first[place] != second[place]), shared)
    return ProbeDifference(text, position, _at(first, position), _at(second, position))


def _at(ids: tuple[int, ...], position: int) -> int | None:
    return ids[position] if position < len(ids) else None
