"""YAML text to plain values: the part of YAML that JSON can hold, plus anchors and merge keys."""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from contracts.faults import DocumentRefused, Fault, pointer, quoted
from contracts.harvest import Harvest, Plain

MAX_VALUES = 100_000
"""Values in one document after anchors are put in; a few lines of anchors can stand for billions."""

# What libyaml says most often, in words for somebody who types documents.
_WORDS = {
    "found character that cannot start any token": "no value begins so; indent with spaces, put the text in quotes",
    "found a tab character that violates indentation": "a tab stands where spaces must",
    "mapping values are not allowed in this context": "this colon is not expected; put the text in quotes",
    "found undefined alias": "no anchor of this name stands above; put the text in quotes if a * is meant",
    "but found another document": "a second document begins; one text holds one document",
    "found unexpected end of stream": "the text in quotes is never closed",
    "could not find expected ':'": "a colon is missing above",
    "did not find expected key": "a member should begin here; indent the members of one object alike",
    "did not find expected '-' indicator": "an item should begin here; indent the items of one list alike",
    "did not find expected node content": "a value is missing here, or a bracket above is never closed",
    "did not find expected ',' or ']'": "a comma or the closing bracket is missing",
    "did not find expected ',' or '}'": "a comma or the closing bracket is missing",
}
_TAG = "tag:yaml.org,2002:"
_MERGE = _TAG + "merge"
# A date is text here, as it is in JSON; `=` is a text like any other.
_TEXTS = frozenset({_TAG + "str", _TAG + "timestamp", _TAG + "value"})
_NUMBERS = frozenset({_TAG + "int", _TAG + "float"})
_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
# YAML 1.1 also reads 0777 as 511, 1_000 as 1000 and 12:30 as 750; here they are refused, whatever was meant.
_PLAIN_NUMBER = re.compile(r"[+-]?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?")


def read_yaml(text: str, harvest: Harvest) -> Plain:
    """Read one YAML document.

    Raises:
        DocumentRefused: The text is no YAML; the one fault names line and column. A fault that leaves the rest readable
            (a name given twice, a tag) goes to the harvest instead.
    """
    try:
        # libyaml's parser stops at 1,000 levels by itself and is ten times as fast as the one written in Python.
        root = yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        words = _WORDS.get(str(error.problem), error.problem)
        raise DocumentRefused([Fault("", f"broken YAML{place}: {words}.")]) from error
    return _Walk(harvest).plain(root, "", 0) if root else None


class _Walk:
    """One pass over the nodes of a document; an anchor is walked again wherever it is used."""

    def __init__(self, harvest: Harvest) -> None:
        self._harvest = harvest
        self._values = 0

    def plain(self, node: yaml.Node, path: str, depth: int) -> Plain:
        self._values += 1
        if self._values > MAX_VALUES:
            raise DocumentRefused([Fault("", f"the document holds more than {MAX_VALUES} values.")])
        if isinstance(node, yaml.MappingNode):
            return self._object(node, path, self._harvest.enter(depth))
        if isinstance(node, yaml.SequenceNode):
            depth = self._harvest.enter(depth)
            return [self.plain(item, f"{path}/{place}", depth) for place, item in enumerate(node.value)]
        return self._scalar(node.tag, node.value, path)

    def _object(self, node: yaml.MappingNode, path: str, depth: int) -> Plain:
        merged: dict[str, Plain] = {}
        for value in _merges(node):
            # The first of several wins, and what stands in the object itself wins over all.
            merged = {**self._merged(value, path, depth), **merged}
        return {**merged, **self._harvest.members(self._members(node, path, depth), path)}

    def _merged(self, node: yaml.Node, path: str, depth: int) -> dict[str, Plain]:
        value = self.plain(node, path, depth)
        if isinstance(value, dict):
            return value
        self._harvest.fault(path, "merges (<<) something that is no object.")
        return {}

    def _members(self, node: yaml.MappingNode, path: str, depth: int) -> Iterator[tuple[str, Plain]]:
        for name, value in node.value:
            if name.tag == _MERGE:
                continue
            if name.tag not in _TEXTS or not isinstance(name, yaml.ScalarNode):
                self._harvest.fault(path, f"the name {_spelled(name)} is not text; put it in quotes.")
                continue
            below = path + pointer([name.value])
            yield name.value, self.plain(value, below, depth)

    def _scalar(self, tag: str, text: str, path: str) -> Plain:
        if tag in _TEXTS:
            return self._harvest.text(text, path)
        self._harvest.spellings[path] = text
        if tag in _NUMBERS and _PLAIN_NUMBER.fullmatch(text):
            return self._harvest.number(text, path)
        if tag == _TAG + "null":
            return None
        if tag == _TAG + "bool" and text.lower() in _BOOLEANS:
            return _BOOLEANS[text.lower()]
        if tag in _NUMBERS:
            self._harvest.fault(path, f"{text} is no plain decimal number; if it is text, put it in quotes.")
        else:
            self._harvest.fault(path, f"has the tag {tag.replace(_TAG, '!!')}, which documents do not know.")
        return None


def _merges(node: yaml.MappingNode) -> Iterator[yaml.Node]:
    for name, value in node.value:
        if name.tag == _MERGE:
            yield from value.value if isinstance(value, yaml.SequenceNode) else [value]


def _spelled(name: yaml.Node) -> str:
    return quoted(name.value) if isinstance(name, yaml.ScalarNode) else "that is a list or an object"
