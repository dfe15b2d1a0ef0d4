import math

import pytest

from tools.demo.binomial import binomial_bounds


@pytest.mark.parametrize(
    ("trials", "probability", "doubt", "bounds"),
    [
        pytest.param(20, 0.5, 0.05, (6, 14), id="the-sign-test-of-the-textbooks"),
        pytest.param(1, 0.5, 0.5, (0, 1), id="one-trial-excludes-nothing"),
        pytest.param(2000, 0.05, 0.001, (69, 133), id="five-per-cent-of-two-thousand"),
        pytest.param(200_000, 0.001, 0.001, (155, 248), id="large-numbers-do-not-overflow"),
    ],
)
def test_bounds(trials: int, probability: float, doubt: float, bounds: tuple[int, int]) -> None:
    assert binomial_bounds(trials, probability, doubt=doubt) == bounds


def test_the_bounds_are_the_tightest_that_keep_the_doubt() -> None:
    trials, probability, doubt = 60, 0.3, 0.02

    def mass(count: int) -> float:
        return math.comb(trials, count) * probability**count * (1 - probability) ** (trials - count)

    low, high = binomial_bounds(trials, probability, doubt=doubt)

    assert sum(mass(count) for count in range(low)) <= doubt / 2 < sum(mass(count) for count in range(low + 1))
    above = sum(mass(count) for count in range(high + 1, trials + 1))
    assert above <= doubt / 2 < above + mass(high)
