"""The two listeners: sockets we bind ourselves, served by uvicorn without its signal handling."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import socket
from collections.abc import Generator
from typing import Any

import uvicorn

from gateway.proxy.plane import DataPlane
from gateway.proxy.protocol import DataProtocol

BACKLOG = 2048
_DATE_S = 1.0
"""How old the `Date` of an answer of the admin port may be."""


class PortTaken(Exception):
    """An address cannot be listened on; the message says what to do."""


class Server(uvicorn.Server):
    """uvicorn's server; signals are ours, because uvicorn would close the listener before a drain (http.md 5.2)."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._ended = asyncio.Event()

    async def main_loop(self) -> None:
        """Wait for the end; uvicorn would look ten times a second whether it has come, on the loop of the requests."""
        while not await self.on_tick(0):  # which also makes the `Date` anew
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_DATE_S):
                    await self._ended.wait()

    def end(self) -> None:
        """Stop serving."""
        self.should_exit = True
        self._ended.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Leave the process's signal handlers as they are."""
        yield

    def stop_listening(self) -> None:
        """Refuse new connections; those open go on."""
        for server in self.servers:
            server.close()


def bind(host: str, port: int, *, option: str) -> socket.socket:
    """Bind a listening socket; port 0 takes a free one.

    Raises:
        PortTaken: The address is in use, not ours, or may not be bound.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise PortTaken(f"cannot listen on {host}:{port} ({error.strerror}); choose another with {option}") from error


def address_of(sock: socket.socket) -> str:
    """Write where a socket listens, as `host:port`."""
    host, port = sock.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def data_server(plane: DataPlane) -> Server:
    """Serve the data port: our protocol class, no ASGI application behind it."""
    config = uvicorn.Config(_no_application, http=functools.partial(DataProtocol, plane), **_COMMON)  # type: ignore[arg-type]
    return Server(config)


def admin_server(application: Any) -> Server:
    """Serve the admin port: FastAPI."""
    return Server(uvicorn.Config(application, http="httptools", **_COMMON))


async def _no_application(scope: Any, receive: Any, send: Any) -> None:
    """Stand where uvicorn wants an application; the data port's protocol class never calls it."""
    raise RuntimeError("the data port does not speak ASGI")


_COMMON: dict[str, Any] = {
    "loop": "none",
    "ws": "none",
    "lifespan": "off",
    "access_log": False,
    "log_config": None,
    "server_header": False,
    "proxy_headers": False,
    "backlog": BACKLOG,
    "timeout_graceful_shutdown": 5,
}
