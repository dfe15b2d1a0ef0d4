from __future__ import annotations

import json
import math
from collections import OrderedDict
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference_dna.canonical import Json, Refused, canonical, first_repeated, parse_json

UNTIMED = settings(deadline=None)
"""A busy machine is no failure."""

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
FLOATS = st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: x != 0 or math.copysign(1, x) > 0)
INTEGERS = st.integers(min_value=-(2**63), max_value=2**63 - 1)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | INTEGERS | FLOATS | TEXTS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=5),
    max_leaves=25,
)


class Level(StrEnum):
    FULL = "full-hash"


class Double(float):
    """As a numeric library's double: a float that prints itself in another way."""

    def __repr__(self) -> str:
        return f"Double({float(self)})"


class Wide(int):
    def __repr__(self) -> str:
        return f"Wide({int(self)})"


@UNTIMED
@given(DOCUMENTS)
def test_what_is_written_reads_back_as_the_same_text_and_value(value: Json) -> None:
    written = canonical(value)

    assert parse_json(written) == value
    assert canonical(parse_json(written)) == written
    assert canonical(parse_json(written.encode())) == written


@UNTIMED
@given(DOCUMENTS, st.sampled_from([None, 2]), st.booleans())
def test_spelling_does_not_matter(value: Json, indent: int | None, ascii_only: bool) -> None:
    spelled = json.dumps(value, indent=indent, ensure_ascii=ascii_only)

    assert canonical(parse_json(spelled)) == canonical(value)


@UNTIMED
@given(st.dictionaries(TEXTS, INTEGERS, min_size=2), st.randoms(use_true_random=False))
def test_members_stand_in_the_order_of_their_utf8_bytes(value: dict[str, int], dice: Any) -> None:
    shuffled = list(value.items())
    dice.shuffle(shuffled)

    written = canonical(dict(shuffled))

    names = [name.encode() for name in json.loads(written)]
    assert names == sorted(names)
    assert written == canonical(value)


def test_the_order_of_names_is_not_that_of_utf16_units() -> None:
    assert canonical({"\U0001f600": 1, "\uff61": 2}) == '{"\uff61":2,"\U0001f600":1}'


@UNTIMED
@given(FLOATS)
def test_a_float_is_shortest_digits_and_an_exponent(value: float) -> None:
    written = canonical(value)

    digits, _, exponent = written.partition("e")
    assert float(written) == value
    assert digits.lstrip("-").isdigit()
    assert str(int(exponent)) == exponent
    assert digits == "0" or not digits.endswith("0")
    assert len(digits.lstrip("-")) <= 17


@pytest.mark.parametrize(
    ("value", "written"),
    [
        pytest.param(0.7, "7e-1", id="fraction"),
        pytest.param(100.0, "1e2", id="trailing-zeros-go-into-the-exponent"),
        pytest.param(-0.00025, "-25e-5", id="leading-zeros-go"),
        pytest.param(1e16, "1e16", id="library-would-switch-notation"),
        pytest.param(-1.5e300, "-15e299", id="negative-with-exponent"),
        pytest.param(0.0, "0e0", id="zero"),
        pytest.param(Double(0.5), "5e-1", id="a-library's-double"),
        pytest.param(Wide(7), "7", id="a-library's-integer"),
        pytest.param(Level.FULL, '"full-hash"', id="text-enumeration"),
        pytest.param((1, [2]), "[1,[2]]", id="tuple"),
        pytest.param(MappingProxyType({"a": OrderedDict(b=None)}), '{"a":{"b":null}}', id="any-mapping"),
        pytest.param("/\x7f\x1f\t", '"/\x7f\\u001f\\t"', id="escapes"),
    ],
)
def test_values_made_in_process(value: Json, written: str) -> None:
    assert canonical(value) == written


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(float("nan"), id="nan"),
        pytest.param(float("-inf"), id="infinity"),
        pytest.param(-0.0, id="negative-zero"),
        pytest.param(2**63, id="above-int64"),
        pytest.param(-(2**63) - 1, id="below-int64"),
        pytest.param("\udc80", id="lone-surrogate"),
        pytest.param({"\ud800": 1}, id="lone-surrogate-in-a-name"),
        pytest.param({1: "a"}, id="name-is-no-text"),
        pytest.param({"a": {1, 2}}, id="set"),
        pytest.param(b"bytes", id="bytes"),
    ],
)
def test_values_without_a_canonical_form_are_refused(value: Any) -> None:
    with pytest.raises(Refused):
        canonical(value)


def test_a_value_that_holds_itself_is_refused() -> None:
    value: list[Any] = []
    value.append({"again": value})

    with pytest.raises(Refused, match="deeper than 32"):
        canonical(value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param('{"a":{"b":1,"\\u0062":2}}', "'b' stands twice", id="names-equal-after-unescaping"),
        pytest.param("-1e-400", "zero", id="rounds-to-negative-zero"),
        pytest.param("-Infinity", "finite", id="minus-infinity"),
        pytest.param("1" * 5000, "5000 characters", id="integer-of-many-digits"),
        pytest.param("-9223372036854775809", "64-bit", id="one-below-int64"),
        pytest.param('["\\udfff"]', "surrogate", id="escaped-low-surrogate"),
        pytest.param('{"\\ud800":1}', "surrogate", id="surrogate-in-a-name"),
        pytest.param('"\ud800"', "surrogate", id="surrogate-in-the-text-itself"),
        pytest.param("\ufeff{}", "JSON", id="byte-order-mark-in-text"),
        pytest.param('{"a":' * 40 + "1" + "}" * 40, "deeper", id="objects-too-deep"),
        pytest.param("[" * 200_000, "deeper", id="deeper-than-the-reader-itself-can-go"),
        pytest.param("{'a':1}", "JSON", id="single-quotes"),
        pytest.param("[1 /* one */]", "JSON", id="comment"),
        pytest.param("[+1]", "JSON", id="plus"),
        pytest.param("[.5]", "JSON", id="no-digit-before-the-point"),
        pytest.param("[1.]", "JSON", id="no-digit-after-the-point"),
        pytest.param("[0x10]", "JSON", id="hexadecimal"),
        pytest.param("[١]", "JSON", id="digit-of-another-script"),
        pytest.param("\u00a0[]", "JSON", id="space-json-does-not-know"),
        pytest.param('"\\x41"', "JSON", id="unknown-escape"),
        pytest.param('"\\u00 1"', "JSON", id="space-inside-an-escape"),
    ],
)
def test_text_that_is_refused(text: str, why: str) -> None:
    with pytest.raises(Refused, match=why):
        parse_json(text)


def test_a_surrogate_pair_is_one_character() -> None:
    assert parse_json('"\\ud83d\\ude00"') == "\U0001f600"


def test_a_repeated_name_is_found_in_a_large_object_at_once() -> None:
    """The search is linear: a hostile document of 200,000 members must not stall its reader."""
    members = ",".join([f'"m{number}":0' for number in range(200_000)])

    with pytest.raises(Refused, match="'m199999' stands twice"):
        parse_json("{" + members + ',"m199999":1}')


@pytest.mark.parametrize(("names", "found"), [("abca", "a"), ("abcb", "b"), ("abc", None), ("", None)])
def test_the_first_repeated_name(names: str, found: str | None) -> None:
    assert first_repeated(names) == found
