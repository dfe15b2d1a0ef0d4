"""Start, run, drain, stop. We own the signals: uvicorn would cut what is still streaming (http.md section 5.2)."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from gateway.listeners import Server
from gateway.process import settle
from gateway.proxy.plane import DataPlane

SWEEP_S = 0.5
"""Between two sweeps of all connections: the grain of every long deadline."""
_LOOK_S = 0.05


@dataclass(frozen=True, slots=True)
class Gateway:
    """Everything that runs. Made by `gateway.app.build`."""

    plane: DataPlane
    data: Server
    data_socket: socket.socket
    admin: Server
    admin_socket: socket.socket
    loops: Sequence[Callable[[], Awaitable[None]]]
    announce: Callable[[str], None]
    """Is told each stage: `listening`, `draining`, `stopped`."""


async def run(gateway: Gateway) -> None:
    """Serve until SIGTERM or SIGINT, then drain. A second signal cuts the drain short."""
    stop, hurry = asyncio.Event(), asyncio.Event()
    _on_signals(lambda: hurry.set() if stop.is_set() else stop.set())
    async with asyncio.TaskGroup() as group:
        background = [group.create_task(_endless(loop)) for loop in gateway.loops]
        background.append(group.create_task(_sweep(gateway.plane)))
        servers = [
            group.create_task(gateway.data.serve(sockets=[gateway.data_socket])),
            group.create_task(gateway.admin.serve(sockets=[gateway.admin_socket])),
        ]
        await _started(gateway)
        settle()
        gateway.announce("listening")
        await stop.wait()
        gateway.announce("draining")
        await drain(gateway, hurry)
        gateway.data.end()
        gateway.admin.end()
        await asyncio.wait(servers)
        for task in background:
            task.cancel()
    gateway.announce("stopped")


async def drain(gateway: Gateway, hurry: asyncio.Event) -> None:
    """Finish what was begun: accept a little longer, close what is idle, wait for exchanges, cut what is left."""
    plane = gateway.plane
    plane.draining = True
    await _wait(hurry, plane.limits.drain_accept_s)
    for connection in list(plane.connections):
        connection.shutdown()
    gateway.data.stop_listening()
    deadline = plane.now() + plane.limits.drain_deadline_s
    while plane.is_busy() and plane.now() < deadline and not hurry.is_set():
        await _wait(hurry, _LOOK_S)
    plane.close()


async def _started(gateway: Gateway) -> None:
    while not (gateway.data.started and gateway.admin.started):  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.01)


async def _endless(loop: Callable[[], Awaitable[None]]) -> None:
    await loop()


async def _sweep(plane: DataPlane) -> None:
    while True:
        await asyncio.sleep(SWEEP_S)
        for _ in plane.sweep():
            await asyncio.sleep(0)


async def _wait(event: asyncio.Event, seconds: float) -> None:
    """Wait so long, or until the event."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


def _on_signals(act: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, act)
