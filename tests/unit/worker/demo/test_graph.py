from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray

from worker.demo.fitting import Fitted
from worker.demo.graph import export
from worker.demo.ngrams import features

VOCABULARY, BUCKETS, CLASSES = 50, 64, 4


def random_fit(*, buckets: int) -> Fitted:
    draws = np.random.default_rng(7)
    rows = VOCABULARY + buckets
    weights = draws.normal(size=(rows, CLASSES)).astype(np.float32)
    return Fitted(weights, draws.uniform(0.5, 2.0, rows).astype(np.float32))


def run(model: bytes, batch: list[list[int]]) -> NDArray[np.float32]:
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    scores: NDArray[np.float32] = session.run(None, {"input_ids": np.array(batch, dtype=np.int64)})[0]
    return scores


@pytest.mark.parametrize("ngrams", [1, 2, 3])
@pytest.mark.parametrize("ids", [[2, 3], [2, 9, 3], [2, 9, 9, 14, 31, 3]], ids=len)
def test_the_graph_computes_what_the_fit_means(ids: list[int], ngrams: int) -> None:
    buckets = 0 if ngrams == 1 else BUCKETS
    fitted = random_fit(buckets=buckets)
    model = export(fitted, vocabulary=VOCABULARY, ngrams=ngrams, buckets=buckets)
    rows = features(ids, vocabulary=VOCABULARY, ngrams=ngrams, buckets=buckets)
    expected = fitted.weights[rows].sum(axis=0) / np.sqrt(fitted.importance[rows].sum())

    assert run(model, [ids])[0] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("ngrams", [1, 2, 3])
def test_padding_changes_no_score(ngrams: int) -> None:
    buckets = 0 if ngrams == 1 else BUCKETS
    model = export(random_fit(buckets=buckets), vocabulary=VOCABULARY, ngrams=ngrams, buckets=buckets)
    short, long = [2, 9, 3], [2, 9, 8, 7, 6, 3]
    together = run(model, [short + [0] * 3, long])

    assert together[0] == pytest.approx(run(model, [short])[0], rel=1e-5)
    assert together[1] == pytest.approx(run(model, [long])[0], rel=1e-5)


def test_a_message_without_any_importance_scores_zero() -> None:
    fitted = Fitted(np.zeros((VOCABULARY, CLASSES), np.float32), np.zeros(VOCABULARY, np.float32))
    model = export(fitted, vocabulary=VOCABULARY, ngrams=1, buckets=0)

    assert run(model, [[2, 3]]).tolist() == [[0.0] * CLASSES]


def test_the_same_fit_is_the_same_file() -> None:
    first, second = (
        export(random_fit(buckets=BUCKETS), vocabulary=VOCABULARY, ngrams=2, buckets=BUCKETS) for _ in "ab"
    )

    assert first == second
