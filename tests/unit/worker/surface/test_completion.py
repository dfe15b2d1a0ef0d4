from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from worker.generation import Ended, Token
from worker.surface.completion import CompletionAsking, CompletionWriter
from worker.surface.openai_answer import Stated

WRITER = CompletionWriter(Stated("cmpl-1", 5, "m", "0" * 64, include_usage=False))


def asked(prompt: Any, **members: Any) -> CompletionAsking:
    return CompletionAsking.model_validate_json(json.dumps({"model": "m", "prompt": prompt, **members}))


@pytest.mark.parametrize("prompt", ["Once", ["Once"]], ids=["a-text", "a-list-of-one"])
def test_a_prompt_is_one_text(prompt: Any) -> None:
    assert asked(prompt).prompt == "Once"


@pytest.mark.parametrize("prompt", [["a", "b"], [1, 2], [], None], ids=["two", "token-ids", "none", "null"])
def test_other_prompts_are_refused(prompt: Any) -> None:
    with pytest.raises(ValidationError, match="prompt"):
        asked(prompt)


@pytest.mark.parametrize(
    ("member", "value"), [("echo", True), ("suffix", "x"), ("best_of", 2), ("logit_bias", {"5": 1}), ("logprobs", 0)]
)
def test_parameters_that_would_not_be_obeyed_are_refused(member: str, value: object) -> None:
    with pytest.raises(ValidationError, match=member):
        CompletionAsking.model_validate_json(json.dumps({"model": "m", "prompt": "a", member: value}))


def test_parameters_that_ask_for_nothing_are_taken() -> None:
    idle: dict[str, Any] = {
        "echo": False,
        "suffix": None,
        "best_of": 1,
        "logit_bias": {},
        "logprobs": None,
        "frequency_penalty": 0,
    }

    asking = CompletionAsking.model_validate_json(json.dumps({"model": "m", "prompt": "a", **idle}))

    assert asking.settings() == CompletionAsking(model="m", prompt="a").settings()


def test_an_answer_is_a_text_completion() -> None:
    answer = WRITER.whole(" upon", Ended("length", 1, 1))

    assert answer["object"] == "text_completion"
    assert answer["choices"] == [{"index": 0, "text": " upon", "logprobs": None, "finish_reason": "length"}]
    assert answer["usage"] == {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


def test_a_stream_is_pieces_a_reason_and_a_mark() -> None:
    sent = WRITER.opening() + WRITER.piece(Token(1, " upon")) + WRITER.closing(" upon", Ended("stop", 1, 2))
    first, last, mark, rest = sent.decode().split("\n\n")

    choices = [json.loads(part.removeprefix("data: "))["choices"][0] for part in (first, last)]
    assert [(choice["text"], choice["finish_reason"]) for choice in choices] == [(" upon", None), ("", "stop")]
    assert (mark, rest) == ("data: [DONE]", "")
