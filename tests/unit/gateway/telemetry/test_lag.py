from __future__ import annotations

import asyncio
import time

from gateway.telemetry.lag import watch_lag


def test_work_that_blocks_the_loop_shows() -> None:
    observed: list[float] = []

    async def story() -> None:
        async with asyncio.TaskGroup() as group:
            watcher = group.create_task(watch_lag(observed.append, now=time.monotonic, every_s=0.01))
            await asyncio.sleep(0.03)
            time.sleep(0.1)  # noqa: ASYNC251 - blocking is what is tested
            await asyncio.sleep(0.03)
            watcher.cancel()

    asyncio.run(story())

    assert max(observed) > 0.05
    assert min(observed) < 0.05
