from typing import Any

import jsonschema_rs
import pytest

from contracts.faults import Misfit
from contracts.schemas import DIALECT, is_json_schema, read_schema


def faults_of(schema: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(Misfit) as caught:
        read_schema(schema)
    return [(fault.path, fault.message) for fault in caught.value.faults]


@pytest.mark.parametrize(
    ("short", "schema"),
    [
        pytest.param(
            {"text": "string", "max_length": "integer"},
            {
                "type": "object",
                "properties": {"text": {"type": "string"}, "max_length": {"type": "integer"}},
                "required": ["text", "max_length"],
            },
            id="the-example-of-the-design",
        ),
        pytest.param(
            {"a": "number", "b": "float?", "c": "boolean?", "d": "array", "e": "object?"},
            {
                "type": "object",
                "properties": {
                    "a": {"type": "number"},
                    "b": {"type": "number"},
                    "c": {"type": "boolean"},
                    "d": {"type": "array"},
                    "e": {"type": "object"},
                },
                "required": ["a", "d"],
            },
            id="every-type-and-optional-ones",
        ),
        pytest.param(
            {"text": "string?"},
            {"type": "object", "properties": {"text": {"type": "string"}}},
            id="nothing-required",
        ),
        pytest.param(
            {"usage": {"tokens": "integer"}, "items": {"type": "array", "items": {"type": "string"}}},
            {
                "type": "object",
                "properties": {
                    "usage": {"type": "object", "properties": {"tokens": {"type": "integer"}}, "required": ["tokens"]},
                    "items": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["usage", "items"],
            },
            id="nested-short-form-and-nested-schema",
        ),
        pytest.param(
            {"type": "string", "text": "string"},
            {
                "type": "object",
                "properties": {"type": {"type": "string"}, "text": {"type": "string"}},
                "required": ["type", "text"],
            },
            id="a-member-called-type",
        ),
    ],
)
def test_the_short_form_is_written_out(short: dict[str, Any], schema: dict[str, Any]) -> None:
    assert not is_json_schema(short)
    assert read_schema(short) == schema


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"type": "object", "properties": {"text": {"type": "string"}}, "x-owner": "us"},
        {"$schema": DIALECT, "type": "object", "x-owner": "us"},
        {"$schema": DIALECT + "#"},
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": ["string", "null"], "pattern": "^a+$"}}},
        {"$defs": {"node": {"$dynamicAnchor": "n"}}, "items": {"$dynamicRef": "#n"}},
        {"const": {"$ref": "https://example.com/data-not-a-reference"}},
        {"properties": {"$ref": {"type": "string"}}},
    ],
)
def test_json_schema_passes_as_it_is(schema: dict[str, Any]) -> None:
    assert is_json_schema(schema)
    assert read_schema(schema) == schema


def test_what_was_written_out_is_checked_by_a_validator_as_meant() -> None:
    validator = jsonschema_rs.Draft202012Validator(read_schema({"text": "string", "max_length": "integer?"}))

    assert validator.is_valid({"text": "好"})
    assert validator.is_valid({"text": "好", "max_length": 5, "more": None})
    assert not validator.is_valid({"max_length": 5})
    assert not validator.is_valid({"text": "好", "max_length": "5"})


def test_every_fault_of_the_short_form_is_told_with_its_place() -> None:
    assert faults_of({"text": "strng", "n": 5, "deep": {"a/b": "int?", "ok": "string"}, "list": ["string"]}) == [
        (
            "/text",
            '"strng" is no type; write string, integer, number, float, boolean, array or object, or JSON Schema.'
            ' Did you mean "string"?',
        ),
        ("/n", "5 is no type; write string, integer, number, float, boolean, array or object, or JSON Schema."),
        (
            "/deep/a~1b",
            '"int?" is no type; write string, integer, number, float, boolean, array or object, or JSON '
            'Schema. Did you mean "integer"?',
        ),
        (
            "/list",
            '["string"] is no type; write string, integer, number, float, boolean, array or object, or JSON Schema.',
        ),
    ]


@pytest.mark.parametrize(
    ("schema", "path", "sentence"),
    [
        pytest.param({"type": "strng"}, "/type", '"strng" is no type; write array, boolean, integer, null', id="type"),
        pytest.param({"items": {"type": ["string", "x"]}}, "/items/type", '["string", "x"] is no type', id="types"),
        pytest.param({"minimum": "5"}, "/minimum", 'is no valid JSON Schema: "5" is not of type "number"', id="number"),
        pytest.param({"required": "a"}, "/required", 'is no valid JSON Schema: "a" is not of type "array"', id="list"),
        pytest.param({"pattern": "("}, "/pattern", 'is no valid JSON Schema: "(" is not a "regex"', id="pattern"),
        pytest.param({"$ref": "#/$defs/a"}, "", "is no valid JSON Schema: Pointer '/$defs/a' does not", id="dangling"),
        pytest.param({"$ref": "http://127.0.0.1:1/a"}, "/$ref", '"http://127.0.0.1:1/a" leads out of', id="remote"),
        pytest.param({"anyOf": [{"$ref": "other.json"}]}, "/anyOf/0/$ref", '"other.json" leads out of', id="relative"),
        pytest.param({"items": {"$dynamicRef": "x#a"}}, "/items/$dynamicRef", '"x#a" leads out of', id="dynamic"),
        pytest.param(
            {"$schema": "http://json-schema.org/draft-07/schema#"},
            "/$schema",
            "only JSON Schema 2020-12 is read",
            id="older",
        ),
        pytest.param({"$schema": 5}, "/$schema", "only JSON Schema 2020-12 is read", id="dialect-of-another-kind"),
        pytest.param(
            {"deep": {"type": "int"}}, "/deep/type", '"int" is no type; write array', id="nested-in-short-form"
        ),
    ],
)
def test_a_faulty_json_schema_is_refused_with_its_place(schema: dict[str, Any], path: str, sentence: str) -> None:
    [(where, message)] = faults_of(schema)

    assert where == path
    assert message.startswith(sentence)


def test_several_faults_of_a_json_schema_are_told_together() -> None:
    faults = faults_of({"type": "x", "items": {"$ref": "http://127.0.0.1:1/a"}, "minimum": "5"})

    assert {path for path, _ in faults} == {"/type", "/items/$ref", "/minimum"}
