"""Where a document lives: `contracts/<model_id>/<version>` or `routes/<model_id>` (design section 6)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from contracts.faults import quoted
from contracts.version import Version, VersionError

DocumentKind: TypeAlias = Literal["contract", "route"]

LONGEST_MODEL_ID = 200
"""Characters; a model id stands in headers, paths, keys and labels of metrics."""

_SEGMENT = r"[A-Za-z0-9_][A-Za-z0-9._:-]*"
_MODEL_ID = re.compile(rf"{_SEGMENT}(?:/{_SEGMENT})*")
_FOLDERS: dict[str, DocumentKind] = {"contracts": "contract", "routes": "route"}


class KeyRefused(ValueError):
    """The text names no document; the message says why."""


@dataclass(frozen=True, slots=True)
class DocumentKey:
    """The place of one document. `version` is None for a route.

    `2.4.0` and `v2.4.0` are one key; that two texts name it is for the reader of the source to notice.
    """

    kind: DocumentKind
    model_id: str
    version: Version | None = None

    def __str__(self) -> str:
        if self.version is None:
            return f"routes/{self.model_id}"
        return f"contracts/{self.model_id}/{self.version}"


def parse_key(text: str) -> DocumentKey:
    """Read a key without the source's own prefix; the last segment of a contract's key is its version.

    Raises:
        KeyRefused: The text is not `contracts/<model_id>/<version>` or `routes/<model_id>`.
    """
    folder, _, rest = text.partition("/")
    kind = _FOLDERS.get(folder)
    if kind is None:
        raise KeyRefused(f"{quoted(text)} begins with neither contracts/ nor routes/.")
    if kind == "route":
        return DocumentKey(kind, parse_model_id(rest))
    model_id, _, version = rest.rpartition("/")
    try:
        return DocumentKey(kind, parse_model_id(model_id), Version.parse(version))
    except VersionError as error:
        raise KeyRefused(f"{quoted(text)} does not end in a version: {error}") from error


def parse_model_id(text: str) -> str:
    """Return the text if it can name a model.

    Raises:
        KeyRefused: It cannot stand unchanged in a header, a path, a key and `model@selector`.
    """
    if len(text) > LONGEST_MODEL_ID:
        raise KeyRefused(f"{quoted(text)} is no model id: it is longer than {LONGEST_MODEL_ID} characters.")
    if not _MODEL_ID.fullmatch(text):
        raise KeyRefused(
            f"{quoted(text)} is no model id: write letters, digits and . _ : - in parts joined by /, "
            "each beginning with a letter, a digit or _."
        )
    return text
