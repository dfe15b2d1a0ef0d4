"""The demo fleet: starts the workers, enrols the honest ones, starts the gateway, and stops what it started."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

import httpx

from inference_dna.manifest import parse_manifest
from tools import compiled
from tools.demo.child import Child
from tools.demo.documents import contract, write_documents
from tools.demo.enrol import EnrolmentRefused, accepted_entry
from tools.demo.plan import PLAN, Member
from tools.demo.ports import HOST, GatewayPorts, free_ports
from tools.demo.run_folder import REPOSITORY, RunFolder
from tools.demo.standing import Standing, check_plan, standings
from tools.demo.waiting import InVain, NotYet, wait_until
from tools.demo.worker import Worker

PROBE_INTERVAL_S = 2.0
"""Shorter than the gateway's own default, so that a change is seen while one still looks."""
LABEL = "this machine"

Found = TypeVar("Found")


class FleetFailed(Exception):
    """The fleet did not come up, or lost a part it needs; the message says which and why."""


class Fleet:
    """`async with Fleet(folder, ports, ...) as fleet:`; inside the block every worker has been judged.

    Args:
        folder: Where documents and logs go.
        ports: Where the gateway listens.
        log_format: Form of the gateway's log, `json` or `text`.
        say: Is told what happens, one sentence at a time.
        plan: Who is in it.
    """

    def __init__(
        self,
        folder: RunFolder,
        ports: GatewayPorts,
        *,
        log_format: str,
        say: Callable[[str], None],
        plan: Sequence[Member] = PLAN,
    ) -> None:
        self.folder = folder
        self.url = f"http://{HOST}:{ports.port}"
        self.admin_url = f"http://{HOST}:{ports.admin_port}"
        self.workers: list[Worker] = []
        self.gateway: Child | None = None
        self.is_stopping = False
        """From here on nothing may interrupt it, or processes would be left behind."""
        self._plan = plan
        self._ports = ports
        self._log_format = log_format
        self._say = say
        self._http = httpx.AsyncClient(trust_env=False, timeout=5.0)

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            await self._stop()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stop()

    @property
    def log(self) -> Path:
        """The gateway's log."""
        return self.folder.logs / "gateway.log"

    def worker(self, name: str) -> Worker:
        """Find a worker by the name it has in the plan."""
        return next(worker for worker in self.workers if worker.member.name == name)

    async def standings(self) -> list[Standing]:
        """Ask the gateway what it thinks of each instance."""
        response = await self._http.get(f"{self.admin_url}/status")
        response.raise_for_status()
        return standings(response.json())

    async def until(self, what: str, check: Callable[[], Awaitable[Found]]) -> Found:
        """Wait until the check finds what it looks for, while every process lives.

        Args:
            what: What is waited for, such as `the drifted one was ejected`.
            check: Raises `NotYet` as long as it is not so.

        Raises:
            FleetFailed: A process ended meanwhile, or it took too long.
        """
        try:
            return await wait_until(what, check, meanwhile=self._raise_for_the_dead)
        except InVain as failure:
            raise FleetFailed(f"{failure} The logs are in {self.folder.logs}.") from failure

    # starting and stopping ------------------------------------------------------------------------------------------

    async def _start(self) -> None:
        self._say(f"Starting {len(self._plan)} workers.")
        for member, port in zip(self._plan, free_ports(len(self._plan)), strict=True):
            self.workers.append(Worker(member, port, self.folder.logs))
        stated = {worker.member: await self.healthz(worker) for worker in self.workers}
        self._say(
            "They measured themselves. Contracts accept those whose artifact is the one of the committed manifest."
        )
        write_documents(self.folder.documents, self._contracts(stated))
        self._say("Starting the gateway.")
        self.gateway = self._start_gateway()
        await self.until("the honest workers were verified and the drifted one ejected", self._judged)

    async def healthz(self, worker: Worker) -> Mapping[str, Any]:
        """Wait until a worker is ready and read what it says of itself."""
        return await self.until(f"the worker {worker.member.name} was ready", lambda: worker.healthz(self._http))

    def _contracts(self, stated: Mapping[Member, Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Write one contract per version. It names every instance that claims the version, drifted ones included."""
        accepted: dict[str, dict[str, dict[str, str]]] = {member.version: {} for member in self._plan}
        for member in self._plan:
            if member.is_honest:
                entry = _enrol(member, stated[member])
                accepted[member.version][entry["digest"]] = entry
        urls = {v: [one.url for one in self.workers if one.member.version == v] for v in accepted}
        return [contract(v, accepted=list(accepted[v].values()), instances=urls[v]) for v in accepted]

    def _start_gateway(self) -> Child:
        command = [
            *(sys.executable, "-m", "gateway.cli.main", "gateway", "--source", f"file:{self.folder.documents}"),
            *("--host", HOST, "--port", str(self._ports.port), "--admin-port", str(self._ports.admin_port)),
            *("--probe-interval", str(PROBE_INTERVAL_S), "--log-format", self._log_format),
        ]
        build = compiled.current()
        env = compiled.environment(build) if build is not None else {}
        return Child("gateway", command, folder=REPOSITORY, log=self.log, env=env)

    async def _judged(self) -> None:
        try:
            seen = await self.standings()
        except httpx.HTTPError as error:
            raise NotYet("the gateway does not answer") from error
        check_plan(seen, self.workers)

    def _raise_for_the_dead(self) -> None:
        children = [worker.child for worker in self.workers] + ([self.gateway] if self.gateway else [])
        dead = [child.obituary() for child in children if not child.is_running]
        if dead:
            raise FleetFailed("\n".join(dead))

    async def _stop(self) -> None:
        """Stop the gateway, then the workers: requests under way still get their answers."""
        self.is_stopping = True
        if self.gateway is not None:
            await self.gateway.stop()
        async with asyncio.TaskGroup() as group:
            for worker in self.workers:
                group.create_task(worker.child.stop())
        await self._http.aclose()


def _enrol(member: Member, healthz: Mapping[str, Any]) -> dict[str, str]:
    manifest = parse_manifest(member.manifest.read_bytes())
    try:
        return accepted_entry(healthz, manifest, version=member.version, label=LABEL)
    except EnrolmentRefused as refused:
        raise FleetFailed(f"The worker {member.name} cannot enrol. {refused}") from refused
