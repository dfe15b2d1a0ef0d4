"""The route: how requests for a model are spread over its versions (design section 6)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, PrivateAttr

from contracts.crosswise import route_faults
from contracts.faults import DocumentRefused, Fault, quoted
from contracts.field_types import (
    DnaPrefix,
    ModelId,
    Percentage,
    SchemaVersion,
    SelectorText,
    Text,
    VersionText,
    reads,
    shaped,
)
from contracts.key import DocumentKey
from contracts.reading import read
from contracts.signature import signature_faults
from contracts.validation import validate
from inference_dna.trust.keys import TrustedKey

_STICKY = re.compile(r"(header|cookie):([!#$%&'*+.^_`|~0-9A-Za-z-]{1,128})")


@dataclass(frozen=True, slots=True)
class Sticky:
    """Where the key of the canary bucket comes from; without one, the request id is the key."""

    kind: Literal["header", "cookie", "none"]
    name: str = ""
    """Of the header, in small letters, or of the cookie, as written."""

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}" if self.name else self.kind


DEFAULT_STICKY = Sticky("header", "x-user-id")
"""clients.md section 2."""


def parse_sticky(text: str) -> Sticky:
    """Read `header:NAME`, `cookie:NAME` or `none`.

    Raises:
        ValueError: The text is anything else.
    """
    if text == "none":
        return Sticky("none")
    found = _STICKY.fullmatch(text)
    if found is None:
        raise ValueError(f"{quoted(text)} names no key; write header:X-User-Id, cookie:NAME or none.")
    return Sticky("header", found[2].lower()) if found[1] == "header" else Sticky("cookie", found[2])


StickyText: TypeAlias = Annotated[
    Sticky,
    reads(parse_sticky, Sticky),
    PlainSerializer(str),
    shaped(r"none|(header|cookie):[!-9;-~]+", "header:NAME, cookie:NAME or none."),
]


class CanaryRule(BaseModel):
    """A share of the requests that named no version."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: VersionText
    traffic_percentage: Percentage
    """0 is none, 100 is all."""
    dna_prefix: DnaPrefix | None = None
    """Only instances whose DNA starts so."""


class Route(BaseModel):
    """One route document. Immutable."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model_id: ModelId
    default: SelectorText | None = None
    sticky: Annotated[StickyText, Field(json_schema_extra={"default": str(DEFAULT_STICKY)})] = DEFAULT_STICKY
    aliases: Mapping[str, SelectorText] = Field(default_factory=dict)
    canary_rules: tuple[CanaryRule, ...] = ()
    salt: Annotated[str, Field(strict=True, max_length=1_000)] = ""
    """Dealt into the bucket of every key: another salt deals all keys anew."""
    signature: dict[str, Any] | None = None
    schema_version: Annotated[SchemaVersion, Field(alias="schema")] = "1"
    editor_schema: Annotated[Text | None, Field(alias="$schema")] = None
    """For editors that read it; without effect here."""

    _warnings: tuple[Fault, ...] = PrivateAttr(default=())

    @property
    def warnings(self) -> tuple[Fault, ...]:
        """What the document holds that has no effect."""
        return self._warnings


def parse_route(
    text: str | bytes, *, key: DocumentKey | None = None, name: str = "", signers: Sequence[TrustedKey] = ()
) -> Route:
    """Read a route from JSON or YAML, whole or not at all.

    Args:
        text: The document.
        key: Where it stands; document and key must agree.
        name: What to call it in messages, such as a file's path; the key by default.
        signers: Keys of which one must have signed it; with none it need not be signed.

    Raises:
        DocumentRefused: With every fault of the document.
    """
    try:
        reading = read(text)
        further = chain(route_faults(reading.value, key), signature_faults("route", reading.value, signers))
        route, warnings = validate(Route, reading, further)
    except DocumentRefused as refused:
        raise DocumentRefused(refused.faults, name or str(key or "")) from refused
    route._warnings = warnings
    return route
