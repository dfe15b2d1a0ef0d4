from __future__ import annotations

import asyncio
import threading

import pytest

from worker.lane import Lane, Saturated


def test_a_call_runs_in_a_thread_of_the_lane() -> None:
    lane = Lane(threads=1, waiting=0)

    async def story() -> str:
        return await lane.run(lambda: threading.current_thread().name)

    assert asyncio.run(story()).startswith("inference")
    lane.close()


def test_there_are_as_many_places_as_threads_and_waiting_together() -> None:
    lane = Lane(threads=1, waiting=1)

    with lane.place(), lane.place(), pytest.raises(Saturated), lane.place():
        pass
    lane.close()


def test_a_place_comes_back_after_a_failure() -> None:
    lane = Lane(threads=1, waiting=0)

    def fail_inside() -> None:
        with lane.place():
            raise RuntimeError

    for _ in range(3):
        with pytest.raises(RuntimeError):
            fail_inside()
    with lane.place():
        pass
    lane.close()


def test_the_loop_goes_on_while_a_thread_works() -> None:
    lane, release = Lane(threads=1, waiting=0), threading.Event()

    async def story() -> bool:
        async with asyncio.TaskGroup() as group:
            slow = group.create_task(lane.run(lambda: release.wait(10)))
            # Only a loop that is free gets here while the thread still waits.
            await asyncio.sleep(0)
            release.set()
        return slow.result()

    assert asyncio.run(story())
    lane.close()


def test_who_is_cancelled_waits_until_the_thread_has_let_go() -> None:
    lane, begun, release, let_go = Lane(threads=1, waiting=0), threading.Event(), threading.Event(), threading.Event()

    def call() -> None:
        begun.set()
        release.wait(10)
        let_go.set()

    async def story() -> bool:
        async with asyncio.TaskGroup() as group:
            working = group.create_task(lane.run(call))
            await asyncio.to_thread(begun.wait, 10)
            working.cancel()
            await asyncio.sleep(0)
            release.set()
        return let_go.is_set()

    assert asyncio.run(story())
    lane.close()


def test_what_was_cancelled_before_it_began_never_begins() -> None:
    lane, release, calls = Lane(threads=1, waiting=1), threading.Event(), list[str]()

    async def story() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(lane.run(lambda: release.wait(10)))
            await asyncio.sleep(0)
            second = group.create_task(lane.run(lambda: calls.append("second")))
            await asyncio.sleep(0)
            second.cancel()
            await asyncio.sleep(0)
            release.set()

    asyncio.run(story())
    lane.close()
    assert calls == []


def test_there_are_as_many_turns_as_threads() -> None:
    lane, most, holding = Lane(threads=2, waiting=9), 0, 0

    async def work() -> None:
        nonlocal most, holding
        async with lane.turn():
            holding += 1
            most = max(most, holding)
            await lane.run(lambda: None)
            holding -= 1

    async def story() -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(6):
                group.create_task(work())

    asyncio.run(story())
    lane.close()
    assert (most, holding) == (2, 0)
