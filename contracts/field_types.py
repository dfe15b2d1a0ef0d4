"""The small values that documents are made of, as pydantic types: each is written as text or as a plain number."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from operator import attrgetter
from typing import Annotated, TypeAlias

from pydantic import Field, PlainSerializer, PlainValidator, WithJsonSchema
from pydantic_core import PydanticKnownError

from contracts.address import parse_address, parse_health_url
from contracts.faults import quoted
from contracts.key import parse_model_id
from contracts.selector import Alias, Exact, Range, Selector, parse_selector
from contracts.version import Version
from inference_dna.dna import parse_dna_prefix
from inference_dna.dotted import DottedRange

_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?"
_ZONE = r"(?:[Zz]|[+-][0-9]{2}:[0-9]{2})"
_INSTANT = re.compile(rf"{_DAY}(?:[Tt ]{_TIME}({_ZONE})?)?")
_FIRST_YEAR, _LAST_YEAR = 1971, 9998


def parse_instant(text: str) -> datetime:
    """Read a date, or a time with its zone (RFC 3339); a date alone is its first moment in UTC.

    Returns:
        The moment, in UTC.

    Raises:
        ValueError: The text is anything else, has no zone, or no such day or time exists.
    """
    found = _INSTANT.fullmatch(text)
    if found is None:
        raise ValueError(f"{quoted(text)} is no date; write 2026-03-31 or 2026-03-31T12:00:00Z.")
    if ":" in text and not found[1]:
        raise ValueError(f"{quoted(text)} does not say its time zone; add Z for UTC, or an offset like +08:00.")
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError as error:
        raise ValueError(f"{quoted(text)} does not exist in the calendar or on the clock.") from error
    if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
        raise ValueError(f"{quoted(text)} lies outside the years {_FIRST_YEAR} to {_LAST_YEAR}.")
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def parse_schema_version(value: object) -> str:
    """Read the member `schema`: which edition of the document's form it was written for.

    Returns:
        `1`, or `1.` and a minor number.

    Raises:
        ValueError: Another major edition; its members may mean other things.
    """
    text = str(value)
    if not re.fullmatch(r"1(?:\.[0-9]+)?", text):
        raise ValueError(f"{quoted(value)} is an edition that is not known here; known is 1.")
    return text


def reads(parse: Callable[[str], object], *made: type) -> PlainValidator:
    """Read the value from text; one that a program made already passes."""

    def read(value: object) -> object:
        if made and isinstance(value, made):
            return value
        if not isinstance(value, str):
            raise PydanticKnownError("string_type")
        return parse(value)

    return PlainValidator(read)


def shaped(pattern: str, description: str) -> WithJsonSchema:
    """Say in the generated JSON Schema what the text must look like; the pattern is for the whole text."""
    return WithJsonSchema({"type": "string", "pattern": f"^(?:{pattern})$", "description": description})


VersionText: TypeAlias = Annotated[
    Version,
    reads(Version.parse, Version),
    PlainSerializer(str),
    shaped(r"v?[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?", "A SemVer 2.0.0 version."),
]
SelectorText: TypeAlias = Annotated[
    Selector,
    reads(parse_selector, Exact, Range, Alias),
    PlainSerializer(attrgetter("text")),
    shaped(r"[\x20-\x7e]{1,256}", "An exact version, a range as npm writes it, or the name of an alias."),
]
ModelId: TypeAlias = Annotated[
    str,
    reads(parse_model_id),
    shaped(r"[A-Za-z0-9_][A-Za-z0-9._:-]*(/[A-Za-z0-9_][A-Za-z0-9._:-]*)*", "The name of a model."),
]
DnaPrefix: TypeAlias = Annotated[
    str, reads(parse_dna_prefix), shaped("[0-9a-f]{1,8}", "The first 1 to 8 characters of a DNA.")
]
BaseUrl: TypeAlias = Annotated[
    str,
    reads(lambda text: parse_address(text).url),
    shaped(r"https?://[^/?#@\s]+(/[^?#\s]*)?", "Where an instance is dialled."),
]
HealthUrl: TypeAlias = Annotated[
    str,
    reads(parse_health_url),
    shaped(r"/.*|https?://.+", "A path on the instance, or a URL in which {host} is the instance's host."),
]
NumberRange: TypeAlias = Annotated[
    DottedRange,
    reads(DottedRange.parse, DottedRange),
    PlainSerializer(attrgetter("text")),
    shaped(r"[0-9.xX*<>=^~| -]+", 'A number with dots, of which "12.1" is 12.1.x, or a range such as ">=12.1 <13".'),
]
Instant: TypeAlias = Annotated[
    datetime,
    reads(parse_instant, datetime),
    PlainSerializer(datetime.isoformat),
    shaped(rf"{_DAY}([Tt ]{_TIME}{_ZONE})?", "A date, or a time with its zone."),
]
SchemaVersion: TypeAlias = Annotated[
    str, PlainValidator(parse_schema_version), WithJsonSchema({"enum": [1, "1"], "description": "Edition of the form."})
]
Seconds: TypeAlias = Annotated[float, Field(strict=True, gt=0, le=86_400)]
Percentage: TypeAlias = Annotated[float, Field(strict=True, ge=0, le=100)]
Text: TypeAlias = Annotated[str, Field(strict=True, min_length=1, max_length=1_000)]
