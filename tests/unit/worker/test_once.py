from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from worker.once import Once

CALLERS = 50


def slow(made: list[object]) -> object:
    made.append(object())
    time.sleep(0.05)
    return made[-1]


def test_fifty_threads_at_once_make_one_value() -> None:
    made: list[object] = []
    once = Once(lambda: slow(made))
    barrier = Barrier(CALLERS)

    def get(_: int) -> object:
        barrier.wait()
        return once.get()

    with ThreadPoolExecutor(CALLERS) as threads:
        got = set(threads.map(get, range(CALLERS)))

    assert got == set(made)
    assert len(made) == 1


def test_tasks_at_once_make_one_value_and_the_loop_goes_on() -> None:
    made: list[object] = []
    once = Once(lambda: slow(made))
    turns: list[int] = []

    async def story() -> set[object]:
        async def tick() -> None:
            while len(turns) < 5:
                turns.append(len(made))
                await asyncio.sleep(0)

        got = await asyncio.gather(*[once.get_soon() for _ in range(CALLERS)], tick())
        return set(got[:-1])

    assert asyncio.run(story()) == set(made)
    assert len(made) == 1
    assert len(turns) == 5


def test_a_failure_is_made_once_too() -> None:
    tried: list[int] = []

    def fail() -> object:
        tried.append(1)
        raise ValueError("no")

    once = Once(fail)

    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            once.get()
    assert len(tried) == 1
