"""One demo worker: who it is, where it listens, and the process that runs there now."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import httpx

from tools.demo.child import Child
from tools.demo.documents import MODEL
from tools.demo.plan import Member
from tools.demo.ports import HOST
from tools.demo.run_folder import REPOSITORY
from tools.demo.waiting import NotYet


class Worker:
    """A member of the fleet on its port. The port stays; what runs there may be replaced.

    Args:
        member: Who it is.
        port: Where it listens.
        logs: Folder for its log.
    """

    def __init__(self, member: Member, port: int, logs: Path) -> None:
        self.member = member
        self.port = port
        self._logs = logs
        self.child = self._start()

    @property
    def url(self) -> str:
        """Its base URL, as contracts name it."""
        return f"http://{HOST}:{self.port}"

    @property
    def address(self) -> str:
        """Host and port, as the gateway names the instance."""
        return f"{HOST}:{self.port}"

    def replace(self, member: Member) -> None:
        """Run another worker on this port; the one before must have ended."""
        self.member = member
        self.child = self._start()

    async def healthz(self, http: httpx.AsyncClient) -> dict[str, Any]:
        """Read what it says of itself.

        Raises:
            NotYet: It does not answer, or is not ready.
        """
        try:
            response = await http.get(f"{self.url}/healthz")
        except httpx.TransportError as error:
            raise NotYet("it does not answer") from error
        document: dict[str, Any] = response.json()
        if response.status_code != httpx.codes.OK:
            raise NotYet(f"it is {document.get('status')}: {document.get('reason')}")
        return document

    def _start(self) -> Child:
        member = self.member
        command = [
            *(sys.executable, "-m", "worker", str(member.folder)),
            *("--host", HOST, "--port", str(self.port)),
            *("--model-id", MODEL, "--version", member.version),
        ]
        log = self._logs / f"worker-{member.name.replace(' ', '-')}.log"
        return Child(f"worker {member.name}", command, folder=REPOSITORY, log=log)
