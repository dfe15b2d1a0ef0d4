from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import onnxruntime
import pytest
from onnx import TensorProto, helper

from worker.bundle import Bundle
from worker.classifier import Classifier, ModelRefused
from worker.engine import Engine

MESSAGE = (2, 100, 200, 300, 3)


def test_there_is_one_score_per_label(bundle: Bundle, engine: Engine) -> None:
    assert len(engine.classifier.score(MESSAGE)) == len(bundle.labels)


@pytest.mark.parametrize("ids", [pytest.param((2, 3), id="no-word"), pytest.param((2, 1, 1, 3), id="unknown-words")])
def test_a_message_that_says_nothing_has_scores_too(engine: Engine, ids: tuple[int, ...]) -> None:
    assert all(math.isfinite(score) for score in engine.classifier.score(ids))


def test_threads_share_a_session_without_changing_a_score(engine: Engine) -> None:
    messages = [(2, *range(4, 4 + length), 3) for length in range(1, 40)]
    alone = [engine.classifier.score(message) for message in messages]

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(engine.classifier.score, messages * 5))

    assert together == alone * 5


def test_the_facts_are_those_of_the_running_session(engine: Engine) -> None:
    assert engine.classifier.engine()["version"] == onnxruntime.__version__
    assert engine.classifier.flags()["providers"] == ["CPUExecutionProvider"]
    assert engine.classifier.parallel()["intra_op_threads"] == 1
    assert engine.classifier.deterministic() == {"batch_invariant": True, "onnxruntime": True}
    assert engine.classifier.loaded_as() == {"dtype": "float32", "quantization": None}


def test_the_engine_names_its_commit(engine: Engine) -> None:
    assert f"git-commit-id={engine.classifier.engine()['commit']}" in onnxruntime.get_build_info()


def test_bytes_that_are_no_model_are_refused() -> None:
    with pytest.raises(ModelRefused, match=r"model\.onnx cannot be loaded"):
        Classifier(b"not a model", outputs=14)


def test_a_model_with_another_number_of_scores_is_refused(bundle: Bundle) -> None:
    with pytest.raises(ModelRefused, match="15 scores"):
        Classifier(bundle.model, outputs=15)


def test_a_model_that_takes_no_token_ids_is_refused() -> None:
    numbers, same = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 14]) for name in ("in", "out"))
    graph = helper.make_graph([helper.make_node("Identity", ["in"], ["out"])], "echo", [numbers], [same])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    with pytest.raises(ModelRefused, match="token ids"):
        Classifier(model.SerializeToString(), outputs=14)
