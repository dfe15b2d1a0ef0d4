"""What differs between two texts of one document."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateway.edits.difference import Difference, differences


def text(value: Any) -> bytes:
    return json.dumps(value).encode()


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        pytest.param({"a": 1}, {"a": 1}, [], id="same"),
        pytest.param({"a": 1}, {"a": 2}, [("/a", "changed", 1, 2)], id="a-value"),
        pytest.param({"a": 1}, {"a": 1, "b": 2}, [("/b", "added", None, 2)], id="a-member-comes"),
        pytest.param({"a": 1, "b": 2}, {"a": 1}, [("/b", "removed", 2, None)], id="a-member-goes"),
        pytest.param({"a": {"b~/c": 1}}, {"a": {"b~/c": 2}}, [("/a/b~0~1c", "changed", 1, 2)], id="a-pointer-escapes"),
        pytest.param({"a": [1, 2, 3]}, {"a": [2, 3]}, [("/a/0", "removed", 1, None)], id="first-item-goes"),
        pytest.param({"a": [1]}, {"a": [0, 1]}, [("/a/0", "added", None, 0)], id="an-item-comes-first"),
        pytest.param({"a": [{"b": 1}]}, {"a": [{"b": 2}]}, [("/a/0/b", "changed", 1, 2)], id="within-an-item"),
        pytest.param({"a": 5}, {"a": 5.0}, [], id="one-number-written-in-two-ways"),
        pytest.param({"a": 1}, {"a": True}, [("/a", "changed", 1, True)], id="one-is-not-true"),
        pytest.param({"a": None}, {}, [("/a", "removed", None, None)], id="null-is-not-absent"),
        pytest.param({"a": [1]}, {"a": {"0": 1}}, [("/a", "changed", [1], {"0": 1})], id="list-and-object"),
        pytest.param({"a": 10**30}, {"a": 10**30 + 1}, [("/a", "changed", 10**30, 10**30 + 1)], id="huge-numbers"),
    ],
)
def test_fields(before: Any, after: Any, found: list[tuple[Any, ...]]) -> None:
    assert differences(text(before), text(after)) == tuple(Difference(*one) for one in found)


def test_spacing_and_comments_do_not_differ() -> None:
    assert differences(b'{"a": "b"}', b"# mine\na:   b\n") == ()


def test_a_document_that_comes_or_goes() -> None:
    assert differences(None, b'{"a": 1}') == (Difference("", "added", after={"a": 1}),)
    assert differences(b'{"a": 1}', None) == (Difference("", "removed", before={"a": 1}),)
    assert differences(None, None) == ()


def test_what_cannot_be_read_is_compared_as_text() -> None:
    assert differences(b'{"a": 1}', b'{"a": ') == (Difference("", "changed", {"a": 1}, '{"a": '),)
    assert differences(b"\xff", b'{"a": 1}')[0].before == "\\xff"
