from __future__ import annotations

import asyncio

import pytest

from gateway.control.supervise import keep_running


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
            task = group.create_task(keep_running(work, on_fault=faults.append, first_s=0.001))
            await well.wait()
            task.cancel()

    asyncio.run(story())

    assert [str(fault) for fault in faults] == ["run 1", "run 2", "run 3"]


def test_cancelling_ends_it() -> None:
    async def work() -> None:
        await asyncio.sleep(60)

    async def story() -> None:
        task = asyncio.ensure_future(keep_running(work, on_fault=lambda fault: None))
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
            task = group.create_task(keep_running(work, on_fault=fault.set_result, first_s=60))
            told: Exception = await fault
            task.cancel()
        return told

    assert isinstance(asyncio.run(story()), ExceptionGroup)
