"""Long work leaves the loop to others again and again; short work is done before anything else happens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from gateway.control.turns import PER_TURN, in_turns


def worked(items: int, *, size: Callable[[int], int] = lambda item: 1, most: int = 10) -> tuple[list[int], list[int]]:
    """Work through so many items beside somebody who looks on: the items, and how many were done at each look."""

    async def story() -> tuple[list[int], list[int]]:
        done: list[int] = []
        looks: list[int] = []

        async def look_on() -> None:
            while True:
                looks.append(len(done))
                await asyncio.sleep(0)

        looking = asyncio.ensure_future(look_on())
        async for item in in_turns(range(items), size=size, most=most):
            done.append(item)  # noqa: PERF401 - the onlooker counts them
        looking.cancel()
        return done, looks

    return asyncio.run(story())


def test_everything_is_handed_out_in_order_and_others_have_their_turn_between() -> None:
    done, looks = worked(35)

    assert done == list(range(35))
    assert looks == [10, 20, 30]


def test_few_items_are_done_before_anything_else_happens() -> None:
    assert worked(9) == (list(range(9)), [])


def test_large_items_make_shorter_turns() -> None:
    assert worked(6, size=lambda item: 5)[1] == [2, 4, 6]
    assert worked(3, size=lambda item: 1000)[1] == [1, 2, 3]


def test_nothing_is_no_work() -> None:
    assert worked(0) == ([], [])


@pytest.mark.parametrize(("items", "turns"), [(PER_TURN - 1, 0), (10 * PER_TURN, 10)])
def test_how_much_a_turn_holds(items: int, turns: int) -> None:
    assert len(worked(items, most=PER_TURN)[1]) == turns
