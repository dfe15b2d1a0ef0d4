"""`make run`: the demo fleet in the foreground, until Ctrl-C."""

from __future__ import annotations

import asyncio
import os
import sys

from tools.demo.fleet import Fleet, FleetFailed
from tools.demo.screen import ready_text
from tools.demo.stage import perform, say
from tools.demo.tail import Tail

POLL_S = 0.2


def main() -> int:
    """Run until told to stop; that is how it is meant to end, hence 0."""
    wanted = os.environ.get("GATEWAY_LOG_FORMAT", "auto")
    log_format = wanted if wanted != "auto" else "text" if sys.stdout.isatty() else "json"
    return perform(watch, name="fleet", log_format=log_format, when_told_to_stop=0)


async def watch(fleet: Fleet) -> int:
    """Show what is there, then what the gateway writes, and say it when a process ends.

    A worker that ends does not end the demo: what the gateway makes of it is worth seeing.

    Raises:
        FleetFailed: The gateway ended.
    """
    tail = Tail(fleet.log)
    say(ready_text(fleet, await fleet.standings()))
    alive = list(fleet.workers)
    while True:
        await asyncio.sleep(POLL_S)
        print(tail.take(), end="", flush=True)
        if fleet.gateway is not None and not fleet.gateway.is_running:
            raise FleetFailed(fleet.gateway.obituary())
        for worker in [worker for worker in alive if not worker.child.is_running]:
            alive.remove(worker)
            say(worker.child.obituary())


if __name__ == "__main__":
    sys.exit(main())
