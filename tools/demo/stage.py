"""Around every play: the run folder, the ports, the signals that end it, and what is said when it goes wrong."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from tools.demo.fleet import Fleet, FleetFailed
from tools.demo.make_above import MakeAbove
from tools.demo.ports import PortRefused, choose_gateway_ports
from tools.demo.run_folder import REPOSITORY, FolderInUse, RunFolder

Play = Callable[[Fleet], Awaitable[int]]
"""What is done with a fleet that is ready; returns the exit status."""

FAILED = 1
LOOK_UP_S = 0.3
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def perform(
    play: Play,
    *,
    name: str,
    log_format: str,
    when_told_to_stop: int,
    environment: Mapping[str, str] = os.environ,
) -> int:
    """Start the fleet, play, stop the fleet.

    Args:
        play: What to do with it.
        name: Of the folder under `run/`, or under what RUN_FOLDER names, that this demo owns.
        log_format: Form of the gateway's log, `json` or `text`.
        when_told_to_stop: Exit status after Ctrl-C, SIGTERM or a closed terminal.
        environment: Where ports and folder are asked for.

    Returns:
        The exit status for the shell.
    """
    runs = Path(environment.get("RUN_FOLDER") or REPOSITORY / "run").absolute()
    try:
        ports = choose_gateway_ports(environment)
        with RunFolder(runs / name) as folder:
            for note in ports.notes:
                say(note)
            fleet = Fleet(folder, ports, log_format=log_format, say=say)
            return asyncio.run(_perform(play, fleet, MakeAbove(environment), when_told_to_stop))
    except (PortRefused, FolderInUse, FleetFailed) as failure:
        print(failure, file=sys.stderr)
        return FAILED


def say(sentence: str) -> None:
    """Tell the person at the terminal, at once also where the output is a pipe."""
    print(sentence, flush=True)


async def _perform(play: Play, fleet: Fleet, make: MakeAbove, when_told_to_stop: int) -> int:
    told = _listen_for_the_end(fleet, make)
    try:
        async with fleet:
            return await play(fleet)
    except asyncio.CancelledError:
        if not told:
            raise
        say("Stopped.")
        return when_told_to_stop


def _listen_for_the_end(fleet: Fleet, make: MakeAbove) -> list[str]:
    """Cancel this task when something asks for the end, unless it is ending already."""
    told: list[str] = []
    task = asyncio.current_task()
    loop = asyncio.get_running_loop()

    def end(who: str) -> None:
        if told or fleet.is_stopping or task is None:
            return
        told.append(who)
        task.cancel()
        say(f"\n{who}: stopping.")

    def look_up() -> None:
        if make.wants_the_end():
            end("make ended")
        elif not told:
            loop.call_later(LOOK_UP_S, look_up)

    for which in ENDING:
        loop.add_signal_handler(which, end, which.name)
    look_up()
    return told
