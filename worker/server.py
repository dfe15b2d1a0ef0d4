"""Runs the application on uvicorn and ends it well."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from inference_dna.canonical import Refused

_LOG = logging.getLogger("worker")
_BACKLOG = 2048
_GRACE_S = 10
"""How long requests in flight may take after SIGTERM."""
_KEEP_ALIVE_S = 75
"""Longer than a gateway keeps an idle connection: it is the gateway that closes, and never finds it closed."""


def serve(
    app: ASGIApp, protocol: type[HttpToolsProtocol], *, host: str, port: int, listening: Callable[[], None]
) -> None:
    """Serve until SIGTERM or SIGINT, then let requests in flight finish.

    Args:
        app: The application.
        protocol: What speaks HTTP.
        host: Address to listen on.
        port: Port to listen on.
        listening: Called once, when clients may connect and uvicorn catches both signals.

    Raises:
        Refused: The address cannot be listened on.
    """
    sock = _listen(host, port)
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    config = uvicorn.Config(
        BrokenOff(app),
        http=protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=_GRACE_S,
    )
    _Server(config, listening).run(sockets=[sock])


def _listen(host: str, port: int) -> socket.socket:
    """Listen by ourselves: uvicorn would end the process with a bare error number."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        # Of a name that does not resolve, the number is none of the system's.
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise Refused(f"cannot listen on {host}:{port} ({reason}); choose another with --port or --host") from error


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, listening: Callable[[], None]) -> None:
        super().__init__(config)
        self._listening = listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._listening()


class BrokenOff:
    """An application whose requests may be cancelled at the end: each is a line in the log, not a traceback.

    What was begun of its answer stays without an end, so that no client takes it for whole; else uvicorn answers 500.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection scope."""
        try:
            await self._app(scope, receive, send)
        except asyncio.CancelledError:
            _LOG.warning("%s took longer than the %d s that were left: it was broken off", scope["path"], _GRACE_S)
