"""Runs the application on uvicorn and ends it well."""

from __future__ import annotations

import logging

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_GRACE_S = 10
"""How long requests in flight may take after SIGTERM."""
_KEEP_ALIVE_S = 75
"""Longer than a gateway keeps an idle connection: it is the gateway that closes, and never finds it closed."""


def serve(app: ASGIApp, protocol: type[HttpToolsProtocol], *, host: str, port: int) -> None:
    """Serve until SIGTERM or SIGINT, then let requests in flight finish."""
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
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
    uvicorn.Server(config).run()
