from __future__ import annotations

import pytest

from bench.cores import CoreSplit, split


@pytest.mark.parametrize(
    ("available", "expected"),
    [
        pytest.param([3], CoreSplit((3,), (3,), (3,)), id="one-core-is-shared-by-all"),
        pytest.param([1, 0], CoreSplit((0,), (1,), (1,)), id="two-cores-the-proxy-has-its-own"),
        pytest.param([0, 1, 2], CoreSplit((0,), (1,), (2,)), id="three-cores-one-each"),
        pytest.param([0, 2, 4, 6, 8], CoreSplit((0,), (2,), (4, 6)), id="more-cores-the-load-takes-two"),
    ],
)
def test_the_proxy_never_shares_where_it_need_not(available: list[int], expected: CoreSplit) -> None:
    assert split(available) == expected


def test_a_shared_core_is_known_and_counted_once() -> None:
    two, three = split([0, 1]), split([0, 1, 2])

    assert (two.shared, two.all) == (True, (0, 1))
    assert (three.shared, three.all) == (False, (0, 1, 2))
