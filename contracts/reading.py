"""The text of a document to a plain value: strict JSON where it begins with `{`, YAML otherwise."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from contracts.faults import DocumentRefused, Fault
from contracts.harvest import Harvest, Plain
from contracts.json_text import read_json
from contracts.yaml_text import read_yaml

MAX_BYTES = 524_288
"""The largest value Consul stores (consul.md section 2); a file may be no larger."""

_NO_TEXT = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|\ufeff")


@dataclass(frozen=True, slots=True)
class Reading:
    """A document that could be read, with what is wrong so far.

    `spellings` holds the text of each value that is not text, by JSON pointer.
    """

    value: dict[str, Plain]
    faults: tuple[Fault, ...]
    spellings: Mapping[str, str]


def read(text: str | bytes) -> Reading:
    """Read the text of one document.

    Raises:
        DocumentRefused: The text is empty, too large, binary, broken, or no object.
    """
    plain = _decoded(text)
    _check_text(plain)
    harvest = Harvest()
    value = read_json(plain, harvest) if plain.lstrip().startswith("{") else read_yaml(plain, harvest)
    if not isinstance(value, dict):
        raise DocumentRefused(
            [*harvest.faults, Fault("", "the document must be an object: members with names, such as model_id.")]
        )
    return Reading(value, tuple(harvest.faults), harvest.spellings)


def _decoded(text: str | bytes) -> str:
    size = len(text) if isinstance(text, bytes) else len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        raise DocumentRefused(
            [Fault("", f"the document has {size} bytes; {MAX_BYTES} is the most a document may have.")]
        )
    if isinstance(text, str):
        return text
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DocumentRefused(
            [Fault("", f"the document is not UTF-8 text: byte {error.start} cannot be read.")]
        ) from error


def _check_text(text: str) -> None:
    if not text.strip():
        raise DocumentRefused([Fault("", "the document is empty.")])
    if text.startswith("\ufeff"):
        raise DocumentRefused([Fault("", "the document begins with a byte order mark; save it as UTF-8 without one.")])
    if found := _NO_TEXT.search(text):
        line = text.count("\n", 0, found.start()) + 1
        message = f"the document is no text: line {line} holds the character U+{ord(found[0]):04X}."
        raise DocumentRefused([Fault("", message)])
