import pytest

from contracts.faults import DocumentRefused, Fault
from contracts.harvest import Harvest
from contracts.json_text import read_json


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param('{"a": 1\n "b": 2}', "broken JSON at line 2, column 2: a comma or a closing", id="no-comma"),
        pytest.param('{\n"a" 1}', "broken JSON at line 2, column 5: a colon is missing.", id="no-colon"),
        pytest.param("{a: 1}", "line 1, column 2: a name in double quotes is missing", id="name-without-quotes"),
        pytest.param('{"a": 1,}', "line 1, column 8|line 1, column 9", id="comma-at-the-end"),
        pytest.param('{"a": }', "line 1, column 7: a value is missing.", id="no-value"),
        pytest.param('{"a": tru}', "a value is missing.", id="half-a-word"),
        pytest.param('{"a": 01}', "line 1, column 8: write a number like 1 or 0.5", id="leading-zero"),
        pytest.param('{"a": +1}', "write a number like 1 or 0.5", id="plus"),
        pytest.param('{"a": .5}', "write a number like 1 or 0.5", id="no-zero"),
        pytest.param('{"a": 10 5}', "a comma or a closing bracket is missing", id="two-numbers"),
        pytest.param('{"a": True}', "write true, false or null, in small letters", id="python"),
        pytest.param("{'a': 1}", "stand in plain double quotes", id="single-quotes"),
        pytest.param('{"a": “x”}', "stand in plain double quotes", id="typeset-quotes"),
        pytest.param('{"a": 1} // mine', "JSON has no comments", id="comment-at-the-end"),
        pytest.param('{\n# mine\n"a": 1}', "line 2, column 1: JSON has no comments", id="comment"),
        pytest.param('{"a": 1} x', "the document has ended before this", id="text-after-it"),
        pytest.param('{"a": "x', "the text that begins here is never closed.", id="open-text"),
        pytest.param('{"a": "\\x"}', "this backslash begins no escape", id="escape"),
        pytest.param('{"a": "\\u12"}', "four hex digits must follow", id="half-an-escape"),
        pytest.param('{"a": "x\ty"}', "write a line break or tab inside a text as", id="tab-in-text"),
        pytest.param('{"a": ' + "[" * 100_000, "nests far too deep", id="endless-nesting"),
        pytest.param('{"a": ' + "[" * 70 + "]" * 70 + "}", "nests deeper than 64 levels", id="deep-nesting"),
        pytest.param('{"a":' * 70 + "1" + "}" * 70, "nests deeper than 64 levels", id="deep-objects"),
    ],
)
def test_broken_text_is_refused_with_its_place(text: str, sentence: str) -> None:
    with pytest.raises(DocumentRefused, match=sentence):
        read_json(text, Harvest())


def test_faults_that_leave_the_text_readable_are_all_kept() -> None:
    harvest = Harvest()

    value = read_json(
        '{"a": 1, "a": 2, "b": {"c": [{"d": 1, "d": 2}], "e": NaN}, "f": -Infinity, "g": 1e999, "h": "\\ud800", '
        '"\\udc00": 1, "\\u0061": 3}',
        harvest,
    )

    assert [(fault.path, fault.message) for fault in harvest.faults] == [
        ("/a", '"a" is given twice; remove one of the two.'),
        ("/b/c/0/d", '"d" is given twice; remove one of the two.'),
        ("/b/e", "NaN is not a number that a document may hold."),
        ("/f", "-Infinity is not a number that a document may hold."),
        ("/g", "1e999 is not a number that a document may hold."),
        ("/h", "holds half of a surrogate pair; write the character itself."),
        ("", "holds half of a surrogate pair; write the character itself."),
        ("/a", '"a" is given twice; remove one of the two.'),
    ]
    assert value == {"a": 3, "b": {"c": [{"d": 2}], "e": 0}, "f": 0, "g": 0, "h": "", "": 1}


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), ("-1", -1), ("-0", 0), ("2.40", 2.4), ("1e2", 100.0), ("9" * 30, int("9" * 30))],
)
def test_numbers_keep_their_kind(text: str, value: float) -> None:
    read_value = read_json(text, Harvest())

    assert read_value == value
    assert type(read_value) is type(value)


def test_an_endless_number_is_a_fault_and_shown_cut() -> None:
    harvest = Harvest()
    read_json('{"a": ' + "9" * 5000 + "}", harvest)

    assert harvest.faults == [Fault("/a", "9" * 64 + " is not a number that a document may hold.")]
