from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from worker.fault import RequestRefused
from worker.generation import Ended, Token
from worker.surface.chat import ChatAsking, ChatWriter
from worker.surface.openai_answer import Stated

HELLO = {"role": "user", "content": "hello"}


def asked(**members: Any) -> ChatAsking:
    return ChatAsking.model_validate_json(json.dumps({"model": "m", "messages": [HELLO], **members}))


def writer(*, include_usage: bool = False) -> ChatWriter:
    return ChatWriter(Stated("chatcmpl-1", 1738324800, "m", "a1b2c3d4e5f60718" * 4, include_usage))


def chunks(sent: bytes) -> list[Any]:
    """The data of each event, decoded; the mark of the end as it stands."""
    texts = [part.removeprefix("data: ") for part in sent.decode().split("\n\n") if part]
    return [text if text == "[DONE]" else json.loads(text) for text in texts]


def test_settings_are_asked_by_their_openai_names() -> None:
    asking = asked(max_tokens=5, temperature=0.5, top_p=0.9, seed=7, stop="\n", top_k=3, repetition_penalty=1.2)

    assert asking.settings() == {
        "max_new_tokens": 5,
        "temperature": 0.5,
        "top_p": 0.9,
        "seed": 7,
        "stop": ("\n",),
        "top_k": 3,
        "repetition_penalty": 1.2,
    }
    assert asking.called() == {"max_new_tokens": "max_tokens"}


def test_the_newer_name_of_max_tokens_counts_too() -> None:
    asking = asked(max_completion_tokens=9)

    assert asking.settings()["max_new_tokens"] == 9
    assert asking.called() == {"max_new_tokens": "max_completion_tokens"}


def test_both_names_may_agree_and_must_not_differ() -> None:
    asked(max_tokens=9, max_completion_tokens=9).check()

    with pytest.raises(RequestRefused, match="differs from max_completion_tokens"):
        asked(max_tokens=9, max_completion_tokens=8).check()


def test_options_of_a_stream_are_for_streams() -> None:
    asked(stream=True, stream_options={"include_usage": True}).check()

    with pytest.raises(RequestRefused, match="only for streams"):
        asked(stream_options={"include_usage": True}).check()


def test_content_may_come_in_parts_of_text() -> None:
    parts = [{"type": "text", "text": "What is "}, {"type": "text", "text": "this?"}]
    asking = asked(messages=[{"role": "user", "content": parts}])

    assert asking.messages[0].document() == {"role": "user", "content": "What is this?"}


@pytest.mark.parametrize(
    "members",
    [
        pytest.param({"frequency_penalty": 0, "presence_penalty": 0.0, "logit_bias": {}}, id="penalties"),
        pytest.param({"tools": [], "tool_choice": "none", "parallel_tool_calls": True}, id="tools"),
        pytest.param({"functions": [], "function_call": "none"}, id="functions"),
        pytest.param({"logprobs": False, "top_logprobs": None}, id="logprobs"),
        pytest.param({"response_format": {"type": "text"}, "modalities": ["text"], "verbosity": "medium"}, id="form"),
        pytest.param({"n": 1, "store": False, "service_tier": "auto", "reasoning_effort": "none"}, id="how"),
        pytest.param(
            {"user": "u", "metadata": {"a": "b"}, "safety_identifier": "s", "prompt_cache_key": "p"}, id="who"
        ),
        pytest.param({"audio": None, "prediction": None, "web_search_options": None}, id="nothing"),
        pytest.param({"stream": True, "stream_options": {"include_obfuscation": False}}, id="stream"),
    ],
)
def test_what_clients_send_to_ask_for_nothing_is_taken_and_changes_nothing(members: dict[str, Any]) -> None:
    assert asked(**members).settings() == asked().settings()


def test_the_newer_name_of_the_systems_role_is_what_the_template_knows() -> None:
    asking = asked(messages=[{"role": "developer", "content": "Be brief."}, HELLO])

    assert asking.messages[0].document() == {"role": "system", "content": "Be brief."}


def test_an_answer_may_be_sent_back_as_it_came() -> None:
    answered = writer().whole("Paris.", Ended("stop", 31, 3))["choices"][0]["message"]  # type: ignore[index]
    asking = asked(messages=[HELLO, {**answered, "annotations": [], "tool_calls": None}, HELLO])

    assert asking.messages[1].document() == {"role": "assistant", "content": "Paris."}


@pytest.mark.parametrize(
    ("members", "field"),
    [
        pytest.param({"messages": []}, "messages", id="no-messages"),
        pytest.param({"messages": [{"role": "robot", "content": "x"}]}, "messages.0.role", id="unknown-role"),
        pytest.param({"messages": [{"role": "user"}]}, "messages.0.content", id="no-content"),
        pytest.param(
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
            "messages.0.content",
            id="an-image",
        ),
        pytest.param({"n": 2}, "n", id="two-answers"),
        pytest.param({"logprobs": True}, "logprobs", id="logprobs"),
        pytest.param({"tools": [{"type": "function"}]}, "tools", id="tools"),
        pytest.param({"frequency_penalty": 0.5}, "frequency_penalty", id="a-penalty"),
        pytest.param({"logit_bias": {"5": -100}}, "logit_bias", id="a-bias"),
        pytest.param({"store": True}, "store", id="to-be-stored"),
        pytest.param({"tool_choice": "required"}, "tool_choice", id="a-tool-must-be-called"),
        pytest.param({"messages": [{**HELLO, "name": "bob"}]}, "messages.0.name", id="a-name-no-template-shows"),
        pytest.param({"messages": [{**HELLO, "tool_calls": [{"id": "1"}]}]}, "messages.0.tool_calls", id="tool-calls"),
        pytest.param({"response_format": {"type": "json_object"}}, "response_format", id="response-format"),
        pytest.param({"temperature": "hot"}, "temperature", id="temperature-is-a-text"),
        pytest.param({"temprature": 1}, "temprature", id="misspelt"),
        pytest.param({"stop": 5}, "stop", id="stop-is-a-number"),
        pytest.param({"stream": "yes"}, "stream", id="stream-is-a-text"),
    ],
)
def test_what_is_not_known_is_refused_by_field(members: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationError) as refused:
        asked(**members)

    assert [".".join(map(str, each["loc"])) for each in refused.value.errors()] == [field]


def test_an_answer_is_a_chat_completion() -> None:
    assert writer().whole("Paris.", Ended("stop", 31, 3)) == {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1738324800,
        "model": "m",
        "system_fingerprint": "fp_a1b2c3d4e5f6",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Paris.", "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 31, "completion_tokens": 3, "total_tokens": 34},
    }


def test_a_stream_is_a_role_pieces_a_reason_and_a_mark() -> None:
    write = writer()
    sent = chunks(write.opening() + write.piece(Token(7, "Paris")) + write.closing("Paris", Ended("length", 31, 1)))

    assert sent[-1] == "[DONE]"
    assert [(chunk["choices"][0]["delta"], chunk["choices"][0]["finish_reason"]) for chunk in sent[:-1]] == [
        ({"role": "assistant", "content": ""}, None),
        ({"content": "Paris"}, None),
        ({}, "length"),
    ]
    assert {chunk["object"] for chunk in sent[:-1]} == {"chat.completion.chunk"}
    assert all("usage" not in chunk for chunk in sent[:-1])


def test_what_was_counted_comes_last_where_it_was_asked_for() -> None:
    write = writer(include_usage=True)
    sent = chunks(write.piece(Token(7, "Paris")) + write.closing("Paris", Ended("stop", 31, 2)))

    assert [chunk["usage"] for chunk in sent[:2]] == [None, None]
    assert sent[2]["choices"] == []
    assert sent[2]["usage"] == {"prompt_tokens": 31, "completion_tokens": 2, "total_tokens": 33}
    assert sent[3] == "[DONE]"
