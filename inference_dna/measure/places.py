"""Rule `files/1`: where each file of a model folder belongs (dna.md section 3)."""

from __future__ import annotations

from enum import StrEnum
from fnmatch import fnmatchcase

RULE = "files/1"

_IGNORED_AT_THE_TOP = (
    "README*", "LICENSE*", "NOTICE*", "*.md", "manifest*.json", "manifest*.json.sig", "manifest*.json.asc",
)  # fmt: skip
_TOKENIZER = (
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json",
    "vocab.txt", "merges.txt", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "*.tiktoken",
    "chat_template.jinja", "chat_template.json", "preprocessor_config.json", "processor_config.json",
    "tokenization_*.py",
)  # fmt: skip
_TEMPLATES = "additional_chat_templates"
_POSTPROCESS = "generation_config.json"


class Place(StrEnum):
    """The one section a file is part of; ignored files are kept by name, as evidence."""

    IGNORED = "ignored"
    TOKENIZER = "tokenizer"
    POSTPROCESS = "postprocess"
    WEIGHTS = "weights"


def place_of(name: str) -> Place:
    """Sort one file by its name, relative to the model folder with `/` between components; the first match wins."""
    *folders, last = name.split("/")
    if is_hidden(name) or (not folders and matches(last, _IGNORED_AT_THE_TOP)):
        return Place.IGNORED
    if _TEMPLATES in folders or matches(last, _TOKENIZER):
        return Place.TOKENIZER
    return Place.POSTPROCESS if last == _POSTPROCESS else Place.WEIGHTS


def is_hidden(name: str) -> bool:
    """Say whether a component begins with `.` or is Python's cache: whatever lies there belongs to nobody's model."""
    return any(component.startswith(".") or component == "__pycache__" for component in name.split("/"))


def matches(last: str, patterns: tuple[str, ...]) -> bool:
    """Say whether a last component matches one of the patterns, capitals counting."""
    return any(fnmatchcase(last, pattern) for pattern in patterns)
