"""Strict JSON text to plain values, every fault with its place."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from contracts.faults import DocumentRefused, Fault, pointer
from contracts.harvest import Harvest, Plain

# What Python's reader says, in words for somebody who types documents.
_WORDS = {
    "Expecting ',' delimiter": "a comma or a closing bracket is missing",
    "Expecting ':' delimiter": "a colon is missing",
    "Expecting property name enclosed in double quotes": (
        'a name in double quotes is missing, like "model_id"; or the comma before this is one too many'
    ),
    "Illegal trailing comma before end of object": "remove this comma: nothing follows it",
    "Illegal trailing comma before end of array": "remove this comma: nothing follows it",
    "Expecting value": "a value is missing",
    "Extra data": "the document has ended before this; remove what follows",
    "Unterminated string starting at": "the text that begins here is never closed",
    "Invalid \\escape": "this backslash begins no escape that JSON knows; write two for a backslash",
    "Invalid \\uXXXX escape": "four hex digits must follow \\u",
    "Invalid control character at": "write a line break or tab inside a text as \\n or \\t",
}
# What people write who know other notations, by what stands where the reading ends.
_HABITS = (
    (re.compile(r"//|/\*|#"), "JSON has no comments; remove it, or write the document as YAML"),
    (re.compile("['\u2018\u2019\u201c\u201d]"), 'names and texts stand in plain double quotes, like "model_id"'),
    (re.compile(r"(?:True|False|None)\b"), "write true, false or null, in small letters"),
    (
        re.compile(r"\+[0-9]|\.[0-9]|(?<=[{\[:, ]0)[0-9]"),
        "write a number like 1 or 0.5: no + and no 0 before it",
    ),
)


@dataclass(frozen=True, slots=True)
class _Members:
    pairs: list[tuple[str, object]]


@dataclass(frozen=True, slots=True)
class _Number:
    text: str


def read_json(text: str, harvest: Harvest) -> Plain:
    """Read one JSON document.

    Raises:
        DocumentRefused: The text is no JSON; the one fault names line and column. A fault that leaves the rest readable
            (a name given twice, NaN) goes to the harvest instead.
    """
    try:
        tree = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        message = f"broken JSON at line {error.lineno}, column {error.colno}: {_words(error)}."
        raise DocumentRefused([Fault("", message)]) from error
    except RecursionError as error:
        raise DocumentRefused([Fault("", "the document nests far too deep.")]) from error
    return _plain(tree, "", harvest, 0)


def _words(error: json.JSONDecodeError) -> str:
    """Say what is wrong: where what stands there tells more than what was expected, by that."""
    for habit, words in _HABITS:
        if habit.match(error.doc, error.pos):
            return words
    return _WORDS.get(error.msg, error.msg)


def _plain(node: object, path: str, harvest: Harvest, depth: int) -> Plain:
    if isinstance(node, _Members):
        depth = harvest.enter(depth)
        named = ((harvest.text(name, path), value) for name, value in node.pairs)
        pairs = ((name, _plain(value, path + pointer([name]), harvest, depth)) for name, value in named)
        return harvest.members(pairs, path)
    if isinstance(node, list):
        depth = harvest.enter(depth)
        return [_plain(value, f"{path}/{place}", harvest, depth) for place, value in enumerate(node)]
    if isinstance(node, str):
        return harvest.text(node, path)
    if isinstance(node, _Number):
        return harvest.number(node.text, path)
    harvest.spellings[path] = json.dumps(node)
    return bool(node) if node is not None else None


_DECODER = json.JSONDecoder(object_pairs_hook=_Members, parse_int=_Number, parse_float=_Number, parse_constant=_Number)
