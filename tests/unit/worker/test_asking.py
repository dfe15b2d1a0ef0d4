from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable

import pytest
from starlette.requests import Request
from starlette.types import Message

from worker.asking import MAX_BODY_BYTES, MAX_CHARACTERS, Asking, read_asking
from worker.problem import Problem


def read(*chunks: bytes) -> Asking:
    """Read a body that arrives in these pieces."""
    messages: Iterable[Message] = iter(
        [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
        + [{"type": "http.request", "body": b"", "more_body": False}]
    )

    async def receive() -> Message:
        return next(iter(messages))

    return asyncio.run(read_asking(Request({"type": "http", "headers": []}, receive), "m"))


def refusal(*chunks: bytes) -> Problem:
    with pytest.raises(Problem) as refused:
        read(*chunks)
    return refused.value


def test_a_body_is_read_in_pieces() -> None:
    assert read(b'{"te', 'xt": "退'.encode(), '款"}'.encode()).text == "退款"


def test_the_model_may_be_named_if_it_is_ours() -> None:
    assert read(b'{"text": "hi", "model": "m"}').model == "m"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        pytest.param(b"", "body", id="nothing"),
        pytest.param(b"hello", "body", id="no-json"),
        pytest.param(b"[]", "body", id="no-object"),
        pytest.param(b'{"text": "\\ud800"}', "body", id="lone-surrogate"),
        pytest.param(b"{}", "text", id="text-missing"),
        pytest.param(b'{"text": 5}', "text", id="text-is-a-number"),
        pytest.param(b'{"text": null}', "text", id="text-is-null"),
        pytest.param(b'{"text": ""}', "text", id="text-is-empty"),
        pytest.param(b'{"text": " \\n\\u3000"}', "text", id="text-is-blank"),
        pytest.param(json.dumps({"text": "a" * (MAX_CHARACTERS + 1)}).encode(), "text", id="text-too-long"),
        pytest.param(b'{"text": "hi", "model": "other"}', "model", id="another-model"),
        pytest.param(b'{"text": "hi", "temperature": 2}', "temperature", id="unknown-parameter"),
    ],
)
def test_wrong_input_is_422_and_names_the_field(body: bytes, field: str) -> None:
    problem = refusal(body)

    assert problem.status == 422
    assert [fault.field for fault in problem.faults] == [field]
    assert field in problem.detail


def test_every_wrong_field_is_named_at_once() -> None:
    assert {fault.field for fault in refusal(b'{"txt": "hi", "model": 1}').faults} == {"text", "txt", "model"}


def test_the_longest_text_is_accepted() -> None:
    assert len(read(json.dumps({"text": "好" * MAX_CHARACTERS}, ensure_ascii=False).encode()).text) == MAX_CHARACTERS


def test_a_body_over_the_limit_is_413_and_not_read_to_its_end() -> None:
    unread = b"x" * MAX_BODY_BYTES

    assert refusal(unread, b"x", *[unread] * 100).status == 413
