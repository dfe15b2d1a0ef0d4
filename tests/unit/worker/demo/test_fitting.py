from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from worker.demo.fitting import Fitted, fit

MESSAGES = [[1, 2], [1, 3], [1, 2, 2], [1, 4], [1, 5], [1, 4, 5]]
INTENTS = [0, 0, 0, 1, 1, 1]


@pytest.fixture(scope="module")
def fitted() -> Fitted:
    return fit(MESSAGES, INTENTS, rows=7, classes=2, penalty=0.01)


def score(fitted: Fitted, message: list[int]) -> NDArray[np.float32]:
    scores: NDArray[np.float32] = fitted.weights[message].sum(axis=0) / np.sqrt(fitted.importance[message].sum())
    return scores


@pytest.mark.parametrize(("message", "intent"), [*zip(MESSAGES, INTENTS, strict=True)])
def test_what_can_be_told_apart_is_told_apart(fitted: Fitted, message: list[int], intent: int) -> None:
    assert score(fitted, message).argmax() == intent


def test_what_stands_in_every_message_says_nothing(fitted: Fitted) -> None:
    assert fitted.importance[1] == 0
    assert not fitted.weights[1].any()


def test_what_was_never_seen_says_nothing_and_makes_the_rest_less_sure(fitted: Fitted) -> None:
    sure, less_sure = score(fitted, [2]), score(fitted, [2, 6])

    assert not fitted.weights[6].any()
    assert 0 < less_sure[0] < sure[0]


def test_the_optimum_has_no_slope() -> None:
    """At the minimum the penalty holds the error in balance: shares are errors over the penalty."""
    penalty = 0.5
    fitted = fit([[0], [1]], [0, 1], rows=2, classes=2, penalty=penalty)
    scores = np.array([score(fitted, [0]), score(fitted, [1])])
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)

    assert (np.eye(2) - chances) / penalty == pytest.approx(scores, abs=1e-4)


def test_a_larger_penalty_means_smaller_weights(fitted: Fitted) -> None:
    tame = fit(MESSAGES, INTENTS, rows=7, classes=2, penalty=1.0)

    assert np.abs(tame.weights).sum() < np.abs(fitted.weights).sum()


def test_fitting_again_gives_the_same_bytes(fitted: Fitted) -> None:
    again = fit(MESSAGES, INTENTS, rows=7, classes=2, penalty=0.01)

    assert again.weights.tobytes() == fitted.weights.tobytes()
