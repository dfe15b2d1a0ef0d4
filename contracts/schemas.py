"""Schemas of requests and answers: a short form for people, or JSON Schema 2020-12.

Short form: `{"text": "string", "max_length": "integer?"}`. A trailing `?` makes a member optional; an object nests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import jsonschema_rs

from contracts.faults import Fault, Misfit, did_you_mean, listed, pointer, quoted

JsonSchema: TypeAlias = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
TYPES = {
    "string": "string",
    "integer": "integer",
    "number": "number",
    "float": "number",
    "boolean": "boolean",
    "array": "array",
    "object": "object",
}
"""Words of the short form and what they are in JSON Schema."""

_KEYWORD_WORDS = """
$anchor $comment $defs $dynamicAnchor $dynamicRef $id $ref $schema $vocabulary additionalProperties allOf anyOf const
contains contentEncoding contentMediaType contentSchema default dependentRequired dependentSchemas deprecated
description else enum examples exclusiveMaximum exclusiveMinimum format if items maxContains maxItems maxLength
maxProperties maximum minContains minItems minLength minProperties minimum multipleOf not oneOf pattern
patternProperties prefixItems properties propertyNames readOnly required then title type unevaluatedItems
unevaluatedProperties uniqueItems writeOnly
"""
_KEYWORDS = frozenset(_KEYWORD_WORDS.split())
_JSON_TYPES = sorted({*TYPES.values(), "null"})
_META = jsonschema_rs.Draft202012Validator({"$ref": DIALECT}, offline=True)
_LONGEST_MESSAGE = 200
_REFERENCES = ("$ref", "$dynamicRef")
# What stands below these is data, whatever its members are called.
_DATA = frozenset({"const", "default", "enum", "examples"})


def read_schema(value: Mapping[str, Any]) -> JsonSchema:
    """Read either form.

    Returns:
        JSON Schema 2020-12 that a validator accepts.

    Raises:
        Misfit: With every fault; their paths begin at the schema.
    """
    faults: list[Fault] = []
    schema = _expand(value, "", faults)
    if not faults:
        faults += _compile_faults(schema)
    if faults:
        raise Misfit(faults)
    return schema


def _expand(value: Mapping[str, Any], path: str, faults: list[Fault]) -> JsonSchema:
    if is_json_schema(value):
        faults += _schema_faults(value, path)
        return dict(value)
    properties = {name: _member(kind, path + pointer([name]), faults) for name, kind in value.items()}
    required = [name for name, kind in value.items() if not _is_optional(kind)]
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def is_json_schema(value: Mapping[str, Any]) -> bool:
    """Say whether an object is JSON Schema; otherwise it is the short form.

    A member called `type` or `format` is ordinary in the short form, so one keyword is no sign; keywords only, or a
    `$schema`, or an object type with its properties, are.
    """
    if "$schema" in value or value.keys() <= _KEYWORDS:
        return True
    return value.get("type") == "object" and isinstance(value.get("properties"), Mapping)


def _member(kind: Any, path: str, faults: list[Fault]) -> JsonSchema:
    if isinstance(kind, Mapping):
        return _expand(kind, path, faults)
    word = kind.removesuffix("?") if isinstance(kind, str) else None
    if word in TYPES:
        return {"type": TYPES[word]}
    hint = did_you_mean(word, TYPES) if word else ""
    faults.append(Fault(path, f"{quoted(kind)} is no type; write {listed(TYPES)}, or JSON Schema.{hint}"))
    return {}


def _is_optional(kind: Any) -> bool:
    return isinstance(kind, str) and kind.endswith("?")


def _schema_faults(schema: Mapping[str, Any], path: str) -> Iterator[Fault]:
    if schema.get("$schema", DIALECT) not in (DIALECT, DIALECT + "#"):
        yield Fault(f"{path}/$schema", f"only JSON Schema 2020-12 is read; write {quoted(DIALECT)} or leave it out.")
        return
    for reference, place in _references(schema, path):
        yield Fault(place, f"{quoted(reference)} leads out of the document; put what it means below $defs.")
    for error in _META.iter_errors(schema):
        steps = list(error.instance_path)
        yield Fault(path + pointer(steps), _sentence(error, steps))


def _references(schema: Any, path: str) -> Iterator[tuple[str, str]]:
    """Find the references that do not point into the same document, with their places."""
    if isinstance(schema, list):
        for place, item in enumerate(schema):
            yield from _references(item, f"{path}/{place}")
    if not isinstance(schema, Mapping):
        return
    for name, value in schema.items():
        below = path + pointer([name])
        if name in _REFERENCES and isinstance(value, str) and not value.startswith("#"):
            yield value, below
        elif name not in _DATA:
            yield from _references(value, below)


def _compile_faults(schema: JsonSchema) -> list[Fault]:
    """Find what only compiling shows: a reference without a target, a broken pattern; the first one only."""
    try:
        jsonschema_rs.Draft202012Validator(schema, offline=True)
    except jsonschema_rs.ValidationError as error:
        return [Fault(pointer(error.instance_path), _sentence(error, []))]
    return []


def _sentence(error: jsonschema_rs.ValidationError, steps: list[str | int]) -> str:
    if steps and steps[-1] == "type":
        return f"{quoted(error.instance)} is no type; write {listed(_JSON_TYPES)}."
    return f"is no valid JSON Schema: {error.message[:_LONGEST_MESSAGE]}."
