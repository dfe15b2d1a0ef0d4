"""A real uvicorn server around an application, on a free port, in a thread of the test's own process."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import uvicorn

HOST = "127.0.0.1"
START_S = 10


@dataclass
class Lines:
    """Log lines as they were written."""

    texts: list[str] = field(default_factory=list)

    def __call__(self, line: str) -> None:
        self.texts.append(line)

    def last(self) -> dict[str, Any]:
        """The newest line; it may be written a moment after the client has its answer."""
        deadline = time.monotonic() + START_S
        while not self.texts:
            assert time.monotonic() < deadline, "no log line was written"
            time.sleep(0.005)
        read: dict[str, Any] = json.loads(self.texts[-1])
        return read


@contextmanager
def serving(app: Any) -> Iterator[httpx.Client]:
    """Serve until the end of the block; gives a client of it."""
    listener = socket.create_server((HOST, 0))
    config = uvicorn.Config(app, lifespan="off", log_level="critical", access_log=False, ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        with httpx.Client(base_url=f"http://{HOST}:{listener.getsockname()[1]}", timeout=START_S) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join(START_S)
        listener.close()
