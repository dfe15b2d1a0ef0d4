from collections import Counter

import pytest

from tools.demo.act import Claim
from tools.demo.acts.pinned import counted
from tools.demo.tour import ACTS, told


@pytest.mark.parametrize(
    ("claim", "lines"),
    [
        (Claim("0 errors", True), ["   observed  0 errors"]),
        (Claim("3 errors\nsuch as\n  a", False), ["   BUT       3 errors", "             such as", "               a"]),
    ],
)
def test_a_claim_that_does_not_hold_looks_like_one(claim: Claim, lines: list[str]) -> None:
    assert told(claim).splitlines() == lines


def test_counts_are_read_with_the_most_common_first() -> None:
    assert counted(Counter(["v2", "v1", "v2"])) == "2 x v2, 1 x v1"
    assert counted(Counter()) == "nothing"


def test_every_act_says_what_it_asks() -> None:
    assert all(act.title and act.asked.endswith(".") for act in ACTS)
    assert len({act.title for act in ACTS}) == len(ACTS)
