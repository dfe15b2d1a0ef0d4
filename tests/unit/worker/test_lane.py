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
