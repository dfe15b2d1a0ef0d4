import pytest

from contracts.faults import DocumentRefused
from contracts.harvest import Harvest
from contracts.yaml_text import read_yaml


def faults_of(text: str) -> list[tuple[str, str]]:
    harvest = Harvest()
    read_yaml(text, harvest)
    return [(fault.path, fault.message) for fault in harvest.faults]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("a: 2026-03-31", {"a": "2026-03-31"}, id="a-date-is-text"),
        pytest.param("a: 2026-03-31T12:00:00Z", {"a": "2026-03-31T12:00:00Z"}, id="a-time-is-text"),
        pytest.param("a: '1234'", {"a": "1234"}, id="quotes-make-text"),
        pytest.param("a: =", {"a": "="}, id="equals-sign"),
        pytest.param("a: [yes, Off, TRUE, ~, null, ]", {"a": [True, False, True, None, None]}, id="words"),
        pytest.param("a: +5\nb: -0.5\nc: 5.\n", {"a": 5, "b": -0.5, "c": 5.0}, id="numbers"),
        pytest.param("a: &x {b: 1}\nc: *x\n", {"a": {"b": 1}, "c": {"b": 1}}, id="anchor"),
        pytest.param(
            "a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\n", {"a": {"b": 1, "c": 2}, "d": {"b": 1, "c": 3}}, id="merge"
        ),
        pytest.param("a: {c: 1, <<: {b: 2, c: 3}}", {"a": {"b": 2, "c": 1}}, id="own-members-win-over-merged-ones"),
        pytest.param("a: {<<: [{b: 1}, {b: 2, c: 3}]}", {"a": {"b": 1, "c": 3}}, id="the-first-merged-one-wins"),
        pytest.param("'<<': 1", {"<<": 1}, id="a-quoted-merge-is-a-name"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_values(text: str, value: object) -> None:
    assert read_yaml(text, Harvest()) == value
    assert faults_of(text) == []


@pytest.mark.parametrize(
    ("text", "path", "sentence"),
    [
        pytest.param("a: 0777", "/a", "0777 is no plain decimal number; if it is text, put it in quotes.", id="octal"),
        pytest.param("a: 0x1f", "/a", "0x1f is no plain decimal number", id="hex"),
        pytest.param("a: 1_000", "/a", "1_000 is no plain decimal number", id="underscore"),
        pytest.param("a: 12:30", "/a", "12:30 is no plain decimal number", id="base-sixty"),
        pytest.param("a: .inf", "/a", ".inf is no plain decimal number", id="infinity"),
        pytest.param("a: .nan", "/a", ".nan is no plain decimal number", id="nan"),
        pytest.param("a: !!int many", "/a", "many is no plain decimal number", id="tagged-as-a-number"),
        pytest.param("a: !!bool perhaps", "/a", "has the tag !!bool, which", id="tagged-as-a-truth-value"),
        pytest.param("a: !!binary aGk=", "/a", "has the tag !!binary, which documents do not know.", id="binary"),
        pytest.param("a: !secret x", "/a", "has the tag !secret, which documents do not know.", id="own-tag"),
        pytest.param(
            "a: !!python/object/apply:os.system [x]\nb: !!python/name:os.system ''",
            "/b",
            "has the tag !!python/name",
            id="python",
        ),
        pytest.param("a: {b: 1, 'b': 2}", "/a/b", '"b" is given twice; remove one of the two.', id="repeated"),
        pytest.param("1: 2", "", 'the name "1" is not text; put it in quotes.', id="number-as-a-name"),
        pytest.param("a: {? [x] : 2}", "/a", "the name that is a list or an object is not text", id="list-as-a-name"),
        pytest.param(
            "? !!str [x]\n: 2", "", "the name that is a list or an object is not text", id="list-tagged-as-text"
        ),
        pytest.param("a: {<<: 5}", "/a", "merges (<<) something that is no object.", id="merge-of-a-number"),
    ],
)
def test_faults_that_leave_the_text_readable(text: str, path: str, sentence: str) -> None:
    [(where, message)] = faults_of(text)

    assert where == path
    assert message.startswith(sentence)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param("a: 1\n\tb: 2", "broken YAML at line 2, column 1: a tab stands where spaces must.", id="tab"),
        pytest.param("a: @b", "broken YAML at line 1, column 4: no value begins so", id="sign-that-begins-no-value"),
        pytest.param("a: b: c", "broken YAML at line 1, column 5: this colon is not expected", id="two-colons"),
        pytest.param("a: *b", "broken YAML at line 1, column 4: no anchor of this name", id="unknown-anchor"),
        pytest.param(
            "a: 1\n---\nb: 2", "broken YAML at line 2, column 1: a second document begins", id="two-documents"
        ),
        pytest.param("a: 'b", "the text in quotes is never closed", id="open-quotes"),
        pytest.param("a: |\n x\nb", "a colon is missing above", id="no-colon"),
        pytest.param("a: [1", "broken YAML at line", id="open-list"),
        pytest.param("a: &a [*a]", "nests deeper than 64 levels", id="an-anchor-inside-itself"),
        pytest.param("a: &a {b: *a}", "nests deeper than 64 levels", id="an-object-inside-itself"),
        pytest.param("a: &a\n  <<: *a\n", "nests deeper than 64 levels", id="a-merge-of-itself"),
        pytest.param("a: " + "[" * 5000, "broken YAML at line 1", id="endless-nesting"),
    ],
)
def test_broken_text_is_refused_with_its_place(text: str, sentence: str) -> None:
    with pytest.raises(DocumentRefused, match=sentence):
        read_yaml(text, Harvest())


def test_anchors_cannot_stand_for_billions_of_values() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]

    with pytest.raises(DocumentRefused, match="holds more than 100000 values"):
        read_yaml("\n".join(lines), Harvest())
