from __future__ import annotations

import asyncio

import pytest

from gateway.control.supervise import DEAD_S, MOST_S, LoopState, dead, keep_running
from tests.support.control import Clock


def test_a_loop_that_fails_is_told_and_runs_again() -> None:
    faults: list[Exception] = []

    async def story() -> None:
        runs = iter(range(1, 10))
        well = asyncio.Event()

        async def work() -> None:
            run = next(runs)
            if run < 4:
                raise ValueError(f"run {run}")
            well.set()
            await asyncio.sleep(60)

        async with asyncio.timeout(5), asyncio.TaskGroup() as group:
            task = group.create_task(
                keep_running(work, on_fault=faults.append, state=LoopState(Clock()), first_s=0.001)
            )
            await well.wait()
            task.cancel()

    asyncio.run(story())

    assert [str(fault) for fault in faults] == ["run 1", "run 2", "run 3"]


def test_cancelling_ends_it() -> None:
    async def work() -> None:
        await asyncio.sleep(60)

    async def story() -> None:
        task = asyncio.ensure_future(keep_running(work, on_fault=lambda fault: None, state=LoopState(Clock())))
        await asyncio.sleep(0.01)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(story())


def test_a_group_of_faults_is_a_fault_too() -> None:
    async def fail() -> None:
        raise ValueError

    async def work() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())

    async def story() -> Exception:
        fault = asyncio.get_running_loop().create_future()
        async with asyncio.TaskGroup() as group:
            state = LoopState(Clock())
            task = group.create_task(keep_running(work, on_fault=fault.set_result, state=state, first_s=60))
            told: Exception = await fault
            task.cancel()
        return told

    assert isinstance(asyncio.run(story()), ExceptionGroup)


def failing(clock: Clock, state: LoopState, *, runs_s: float, for_s: float) -> None:
    """Let a loop run for a while and fail, again and again."""
    until = clock() + for_s
    while clock() < until:
        state.started()
        clock.pass_(runs_s)
        state.ended()
        clock.pass_(MOST_S)


def test_w22_a_loop_that_fails_for_five_minutes_is_dead_until_it_runs_well() -> None:
    clock = Clock()
    states = {"watcher": LoopState(clock), "prober": LoopState(clock)}
    states["prober"].started()

    failing(clock, states["watcher"], runs_s=0.1, for_s=DEAD_S - MOST_S)
    assert dead(states) == ()
    failing(clock, states["watcher"], runs_s=0.1, for_s=2 * MOST_S)
    assert dead(states) == ("watcher",)
    states["watcher"].started()
    clock.pass_(MOST_S)
    assert dead(states) == ("watcher",)
    clock.pass_(1)
    assert dead(states) == ()


def test_w22_a_fault_now_and_then_is_no_death() -> None:
    clock = Clock()
    state = LoopState(clock)
    failing(clock, state, runs_s=2 * MOST_S, for_s=3 * DEAD_S)
    assert not state.is_dead
