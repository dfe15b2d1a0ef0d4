"""Fits the weights: a softmax over a bag of token runs, rare runs counting more, large weights penalised.

With about a hundred messages per intent a linear model over token runs generalises better than a hidden layer does, and
its optimum is unique: no seed, no order of batches, so the same messages give the same weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
_STEPS = 400


@dataclass(frozen=True, slots=True)
class Fitted:
    """`weights` has a row per feature and a column per intent; `importance` is the squared weight of each row.

    The score of a message is the sum of the rows of its features, divided by the root of the sum of their importances.
    """

    weights: NDArray[np.float32]
    importance: NDArray[np.float32]


def fit(
    messages: Sequence[Sequence[int]], intents: Sequence[int], *, rows: int, classes: int, penalty: float
) -> Fitted:
    """Fit the model.

    Args:
        messages: The features of each message, numbers below `rows`.
        intents: The intent of each message, numbers below `classes`.
        rows: How many features there are.
        classes: How many intents there are.
        penalty: Weight of the squared weights in the loss, above 0.
    """
    counts = _counts(messages, rows)
    rarity = _rarity(counts)
    bags = counts * rarity
    bags /= np.sqrt(np.maximum(counts @ rarity**2, np.finfo(float).tiny))[:, None]
    shares = _minimise(bags @ bags.T, np.eye(classes)[list(intents)], penalty)
    weights = rarity[:, None] * (bags.T @ shares)
    return Fitted(weights.astype(np.float32), (rarity**2).astype(np.float32))


def _counts(messages: Sequence[Sequence[int]], rows: int) -> Matrix:
    counts = np.zeros((len(messages), rows))
    for place, message in enumerate(messages):
        np.add.at(counts[place], list(message), 1.0)
    return counts


def _rarity(counts: Matrix) -> NDArray[np.float64]:
    """Inverse document frequency. What was never seen is rarest: it says nothing, and makes the rest less sure."""
    rarity: NDArray[np.float64] = np.log((1 + len(counts)) / (1 + (counts > 0).sum(axis=0)))
    return rarity


def _minimise(kernel: Matrix, targets: Matrix, penalty: float) -> Matrix:
    """Minimise the penalised cross entropy by Nesterov's steps.

    The optimum is a weighted sum of the messages, so the share of each message is sought instead of each weight: a
    thousand unknowns per intent instead of ten thousand. `kernel` holds the inner products of the messages.
    """
    step = 1.0 / (np.linalg.norm(kernel, 2) / 2 + penalty)
    shares = ahead = np.zeros_like(targets)
    momentum = 1.0
    for _ in range(_STEPS):
        error = _softmax(kernel @ ahead) - targets
        following = ahead - step * (error + penalty * ahead)
        next_momentum = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = following + (momentum - 1) / next_momentum * (following - shares)
        shares, momentum = following, next_momentum
    return shares


def _softmax(scores: Matrix) -> Matrix:
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Matrix = exponentials / exponentials.sum(axis=1, keepdims=True)
    return shares
