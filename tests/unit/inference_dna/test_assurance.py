from __future__ import annotations

from itertools import pairwise

import pytest

from inference_dna.assurance import Assurance, weaker

FROM_WEAK_TO_STRONG = [
    "declared", "label", "stat-cached", "sampled", "full-hash", "fs-verity", "gpu-checksum", "attested",
]  # fmt: skip


def test_the_levels_are_ordered_as_dna_md_lists_them() -> None:
    assert [level.value for level in sorted(Assurance, key=lambda level: level.rank)] == FROM_WEAK_TO_STRONG
    assert [Assurance(name).rank for name in FROM_WEAK_TO_STRONG] == list(range(8))


@pytest.mark.parametrize(("weak", "strong"), list(pairwise(FROM_WEAK_TO_STRONG)))
def test_the_weaker_of_two(weak: str, strong: str) -> None:
    a, b = Assurance(weak), Assurance(strong)

    assert weaker(a, b) is weaker(b, a) is weaker(a, a) is a
