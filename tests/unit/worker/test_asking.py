from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable

import pytest
from starlette.requests import Request
from starlette.types import Message

from tests.support.alphabet import Alphabet
from worker.asking import MAX_CHARACTERS, ClassifyAsking, GenerateAsking, check_model, merged, read_asking
from worker.fault import RequestRefused
from worker.problem import Problem


def read(*chunks: bytes) -> ClassifyAsking:
    """Read a body that arrives in these pieces."""
    messages: Iterable[Message] = iter(
        [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
        + [{"type": "http.request", "body": b"", "more_body": False}]
    )

    async def receive() -> Message:
        return next(iter(messages))

    return asyncio.run(read_asking(Request({"type": "http", "headers": []}, receive), ClassifyAsking))


def refusal(*chunks: bytes) -> RequestRefused:
    with pytest.raises(RequestRefused) as refused:
        read(*chunks)
    return refused.value


def test_a_body_is_read_in_pieces() -> None:
    assert read(b'{"te', 'xt": "退'.encode(), '款"}'.encode()).text == "退款"


@pytest.mark.parametrize("named", [None, "m"])
def test_the_model_may_be_named_if_it_is_ours(named: str | None) -> None:
    check_model(named, "m")

    with pytest.raises(RequestRefused, match="model: this worker serves other"):
        check_model("m", "other")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        pytest.param(b"", "body", id="nothing"),
        pytest.param(b"hello", "body", id="no-json"),
        pytest.param(b"[]", "body", id="no-object"),
        pytest.param(b'{"text": "a", "text": "a"}', "text", id="text-twice"),
        pytest.param(b'{"text": "\\ud800"}', "body", id="lone-surrogate"),
        pytest.param(b"{}", "text", id="text-missing"),
        pytest.param(b'{"text": 5}', "text", id="text-is-a-number"),
        pytest.param(b'{"text": null}', "text", id="text-is-null"),
        pytest.param(b'{"text": ""}', "text", id="text-is-empty"),
        pytest.param(b'{"text": " \\n\\u3000"}', "text", id="text-is-blank"),
        pytest.param(json.dumps({"text": "a" * (MAX_CHARACTERS + 1)}).encode(), "text", id="text-too-long"),
        pytest.param(b'{"text": "hi", "temperature": 2}', "temperature", id="unknown-parameter"),
    ],
)
def test_wrong_input_is_refused_and_names_the_field(body: bytes, field: str) -> None:
    refused = refusal(body)

    assert [fault.field for fault in refused.faults] == [field]
    assert field in str(refused)


def test_every_wrong_field_is_named_at_once() -> None:
    assert {fault.field for fault in refusal(b'{"txt": "hi", "model": 1}').faults} == {"text", "txt", "model"}


def test_the_longest_text_is_accepted() -> None:
    assert len(read(json.dumps({"text": "好" * MAX_CHARACTERS}, ensure_ascii=False).encode()).text) == MAX_CHARACTERS


def test_a_body_over_the_limit_is_413_and_not_read_to_its_end() -> None:
    unread = b"x" * ClassifyAsking.most_bytes

    with pytest.raises(Problem) as refused:
        read(unread, b"x", *[unread] * 100)
    assert refused.value.status == 413


def test_one_stop_sequence_is_a_list_of_one() -> None:
    asking = GenerateAsking.model_validate_json('{"text": "a", "stop": "\\n", "max_new_tokens": 3}')

    assert asking.settings() == {
        "max_new_tokens": 3,
        "temperature": None,
        "top_p": None,
        "top_k": None,
        "repetition_penalty": None,
        "seed": None,
        "stop": ("\n",),
    }


def test_settings_of_a_request_leave_the_defaults_as_they_are() -> None:
    backend = Alphabet()
    before = backend.defaults

    assert merged(backend, {"temperature": 0.5, "seed": None}, {}).temperature == 0.5
    assert backend.defaults is before
    assert before.temperature == 0.0


def test_a_wrong_setting_is_told_by_the_clients_name() -> None:
    with pytest.raises(RequestRefused) as refused:
        merged(Alphabet(), {"max_new_tokens": 0, "top_p": 5}, {"max_new_tokens": "max_tokens"})

    assert [fault.field for fault in refused.value.faults] == ["max_tokens", "top_p"]
