import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.faults import DocumentRefused
from contracts.reading import MAX_BYTES, Reading, read

_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**18), 10**18)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


def refusal(text: str | bytes) -> str:
    with pytest.raises(DocumentRefused) as caught:
        read(text)
    return str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"a": {"b": [1, 2.5, "x", true, null]}}', id="json"),
        pytest.param(b'{"a": {"b": [1, 2.5, "x", true, null]}}', id="bytes"),
        pytest.param('\n  {"a": {"b": [1, 2.5, "x", true, null]}}', id="json-after-space"),
        pytest.param("a: {b: [1, 2.5, x, true, null]}", id="yaml-in-one-line"),
        pytest.param("a:\n  b:\n  - 1\n  - 2.5\n  - x\n  - true\n  - ~\n", id="yaml"),
        pytest.param("# a comment\n---\na:\n  b: [1, 2.5, 'x', True, ]\n", id="yaml-with-null-left-out"),
    ],
)
def test_both_languages_give_the_same_value(text: str | bytes) -> None:
    expected = [1, 2.5, "x", True, None]
    value = read(text).value["a"]

    assert isinstance(value, dict)
    assert value["b"] == (expected if "~" in str(text) or "null" in str(text) else expected[:4])


def test_a_good_document_has_no_faults_and_keeps_what_was_typed() -> None:
    reading = read('{"a": 2.40, "b": {"c/d": true}, "e": [null]}')

    assert reading == Reading(
        {"a": 2.4, "b": {"c/d": True}, "e": [None]}, (), {"/a": "2.40", "/b/c~1d": "true", "/e/0": "null"}
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param("", "the document is empty.", id="empty"),
        pytest.param(b" \n\t ", "the document is empty.", id="blank"),
        pytest.param("[1]", "the document must be an object", id="list"),
        pytest.param("just words", "the document must be an object", id="text"),
        pytest.param("# nothing but a comment", "the document must be an object", id="comment"),
        pytest.param(b"\xff\xfe{", "is not UTF-8 text: byte 0 cannot be read", id="not-utf-8"),
        pytest.param(b"\x89PNG\r\n\x1a\n", "is not UTF-8 text: byte 0", id="picture"),
        pytest.param(b"a: b\nc: \x00\n", "is no text: line 2 holds the character U+0000", id="nul"),
        pytest.param('{"a": "\x1b[2J"}', "line 1 holds the character U+001B", id="escape"),
        pytest.param("\ufeff{}", "begins with a byte order mark", id="byte-order-mark"),
        pytest.param("a: \udc80", "holds the character U+DC80", id="half-a-character"),
        pytest.param("a: \uffff", "holds the character U+FFFF", id="no-character"),
        pytest.param("a: \ufeffb", "holds the character U+FEFF", id="byte-order-mark-inside"),
        pytest.param("a: " + "x" * MAX_BYTES, f"has {MAX_BYTES + 3} bytes", id="huge"),
        pytest.param("a: " + "模" * (MAX_BYTES // 3), f"has {MAX_BYTES // 3 * 3 + 3} bytes", id="huge-in-bytes-only"),
    ],
)
def test_what_is_no_document_is_refused_with_a_sentence(text: str | bytes, sentence: str) -> None:
    assert sentence in refusal(text)


@settings(deadline=None)
@given(st.dictionaries(st.text(), _JSON, max_size=4))
def test_what_json_can_hold_is_read_as_it_is(value: dict[str, object]) -> None:
    assert read(json.dumps(value)).value == value


@settings(deadline=None)
@given(st.text() | st.binary() | st.text('{}[]":,\\ntrue0123456789.eE-abc\n &*!|>?#%@`~', max_size=60))
def test_nothing_but_the_refusal_ever_leaves_the_reader(text: str | bytes) -> None:
    try:
        outcome: object = read(text)
    except DocumentRefused as refused:
        outcome = refused.faults
    assert outcome
