from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr

from contracts.faults import DocumentRefused, Fault
from contracts.reading import read
from contracts.validation import validate


class Colour(StrEnum):
    RED = "red"
    GREEN = "green"


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")
    every_member_counts: ClassVar[bool] = True
    alpha: StrictInt = 0
    beta: StrictInt = 0


class Leaf(BaseModel):
    model_config = ConfigDict(extra="forbid")
    width: Annotated[StrictInt, Field(ge=1, le=9)] = 1
    share: Annotated[float, Field(strict=True, gt=0)] = 1.0


class Tree(BaseModel):
    model_config = ConfigDict(extra="forbid")
    title: Annotated[StrictStr, Field(min_length=1, max_length=5)] = "x"
    leaf: Leaf = Leaf()
    leaves: tuple[Leaf, ...] = ()
    maybe: Leaf | None = None
    strict: Strict = Strict()
    names: tuple[StrictStr, ...] = ("a",)
    colour: Colour = Colour.RED
    kind: Literal["http"] = "http"
    flag: StrictBool = True
    free: dict[str, Any] = {}
    table: Mapping[str, StrictStr] = {}
    aliased: Annotated[StrictInt, Field(alias="by-another-name")] = 0
    must: StrictInt


def told(text: str) -> list[tuple[str, str, str]]:
    with pytest.raises(DocumentRefused) as caught:
        validate(Tree, read(text), [])
    return [(fault.path, fault.message, fault.severity) for fault in caught.value.faults]


@pytest.mark.parametrize(
    ("member", "path", "sentence"),
    [
        ("title: 1234", "/title", '1234 is a number where text is meant; put it in quotes: "1234".'),
        ("title: 2.40", "/title", '2.40 is a number where text is meant; put it in quotes: "2.40".'),
        ("title: no", "/title", 'no is read as true or false where text is meant; put it in quotes: "no".'),
        ("title:", "/title", "null is not text; write a text or leave this member out."),
        ("title: [a]", "/title", '["a"] must be text.'),
        ("title: ''", "/title", "must not be empty."),
        ("title: abcdef", "/title", '"abcdef" is too long; the most characters it may have are 5.'),
        ("leaf: {width: '3'}", "/leaf/width", '"3" must be a whole number; remove the quotes.'),
        ("leaf: {width: three}", "/leaf/width", '"three" must be a whole number.'),
        ("leaf: {width: 2.50}", "/leaf/width", "2.50 must be a whole number."),
        ("leaf: {width: 0}", "/leaf/width", "0 is too small; it must be at least 1."),
        ("leaf: {width: 10}", "/leaf/width", "10 is too large; it may be at most 9."),
        ("leaf: {share: 0.00}", "/leaf/share", "0.00 is too small; it must be more than 0."),
        ("leaf: {share: 5 s}", "/leaf/share", '"5 s" must be a number, without a unit: 5.'),
        ("leaf: {share: 1e-2}", "/leaf/share", '"1e-2" must be a number.'),
        ("leaf: {share: yes}", "/leaf/share", "yes must be a number."),
        ("flag: 'true'", "/flag", '"true" must be true or false; remove the quotes.'),
        ("flag: 1", "/flag", "1 must be true or false."),
        ("names: a", "/names", '"a" must be a list of names, like ["a"].'),
        ("names: {a: 1}", "/names", '{"a": 1} must be a list; put it in [ ].'),
        ("names: [a, 5]", "/names/1", '5 is a number where text is meant; put it in quotes: "5".'),
        ("leaf: 5", "/leaf", "5 must be an object, with members in {} or below it."),
        ("free: [1]", "/free", "[1] must be an object, with members in {} or below it."),
        ("table: x", "/table", '"x" must be an object, with members in {} or below it.'),
        ("colour: gren", "/colour", '"gren" is not allowed here; write "red" or "green". Did you mean "green"?'),
        ("colour: 5", "/colour", '5 is not allowed here; write "red" or "green".'),
        ("kind: grpc", "/kind", '"grpc" is not allowed here; write "http".'),
        ("colours: red", "/colours", 'is no member of this object. Did you mean "colour"?'),
        ("by-another-nam: 5", "/by-another-nam", 'is no member of this object. Did you mean "by-another-name"?'),
        ("leaf: {wdth: 3}", "/leaf/wdth", 'is no member of this object. Did you mean "width"?'),
        ("leaves: [{}, {wdth: 3}]", "/leaves/1/wdth", 'is no member of this object. Did you mean "width"?'),
        ("maybe: {wdth: 3}", "/maybe/wdth", 'is no member of this object. Did you mean "width"?'),
        ("strict: {other: 3}", "/strict/other", "is no member of this object. It may have alpha or beta."),
    ],
)
def test_each_kind_of_fault_has_a_sentence(member: str, path: str, sentence: str) -> None:
    assert told(f"must: 1\n{member}") == [(path, sentence, "error")]


def test_what_is_missing_is_named() -> None:
    assert told("title: x") == [("/must", "is required and missing.", "error")]


def test_every_fault_is_told_at_once_readings_and_further_ones_too() -> None:
    reading = read('{"title": 5, "colour": "gren", "free": {}, "free": {}, "note": 1}')

    with pytest.raises(DocumentRefused) as caught:
        validate(Tree, reading, [Fault("/further", "does not agree.")])

    assert [(fault.path, fault.severity) for fault in caught.value.faults] == [
        ("/free", "error"),
        ("/further", "error"),
        ("/title", "error"),
        ("/colour", "error"),
        ("/must", "error"),
        ("/note", "warning"),
    ]


def test_one_place_is_not_told_twice_for_one_slip() -> None:
    assert told("must: 0777") == [
        ("/must", "0777 is no plain decimal number; if it is text, put it in quotes.", "error")
    ]


def test_an_unknown_word_is_left_out_with_a_warning() -> None:
    tree, warnings = validate(Tree, read("must: 1\nowner: us\nleaf: {unlike: 1, width: 2}"), [])

    assert (tree.must, tree.leaf.width) == (1, 2)
    assert warnings == (
        Fault("/leaf/unlike", "is unknown and has no effect.", "warning"),
        Fault("/owner", "is unknown and has no effect.", "warning"),
    )


def test_warnings_from_outside_refuse_nothing() -> None:
    warning = Fault("/must", "is odd.", "warning")

    assert validate(Tree, read("must: 1"), [warning]) == (Tree(must=1), (warning,))


def test_a_document_without_faults_has_no_warnings() -> None:
    assert validate(Tree, read("must: 1"), []) == (Tree(must=1), ())


class Odd(BaseModel):
    number: Annotated[StrictInt, Field(multiple_of=2)]


def test_a_fault_of_a_kind_that_has_no_sentence_yet_is_told_all_the_same() -> None:
    with pytest.raises(DocumentRefused, match=r"/number: 3 does not fit here: Input should be a multiple of 2\."):
        validate(Odd, read("number: 3"), [])
