from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from inference_dna.inputs import hash_tokens
from worker.bundle import BundleRefused, read_bundle
from worker.engine import Engine, load_engine


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        pytest.param("我要退款", "refund", id="chinese"),
        pytest.param("I forgot my password", "login_problem", id="english"),
        pytest.param("two plus two", "other", id="none-of-the-intents"),
    ],
)
def test_a_message_is_answered(engine: Engine, text: str, intent: str) -> None:
    assert engine.infer(text).answer.intent == intent


def test_the_input_hash_is_over_the_ids_the_model_was_fed(engine: Engine) -> None:
    assert engine.infer("Refund").input_hash == hash_tokens([engine.tokenizer.encode("refund")])


def test_other_ids_are_another_input(engine: Engine) -> None:
    assert engine.infer("refund").input_hash != engine.infer("invoice").input_hash


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("tokenizer_json", "nonsense", id="tokenizer"),
        pytest.param("model_onnx", "\x08\x0a:\x07\x12\x05graph", id="a-graph-of-nothing"),
    ],
)
def test_a_file_its_library_cannot_load_refuses_the_bundle(copied: Callable[..., Path], name: str, text: str) -> None:
    bundle = read_bundle(copied(**{name: text}))

    with pytest.raises(BundleRefused, match="cannot be loaded"):
        load_engine(bundle)
