"""Workers that a gateway finds through Consul: two versions of a model behind one service, and one that lies."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.consul import ConsulAgent
from tests.support.gateway_process import GatewayProcess
from tests.support.stub_worker import StubWorker, contract_for, workers

SERVICE = "stub"
MODEL = "m"
ROUTE = f"inference/routes/{MODEL}"


@dataclass(frozen=True)
class EnlistedFleet:
    """Running workers; `liar` says that it is a v1.0.0 and is another runtime.

    Attributes:
        v1: Two workers of v1.0.0.
        v2: The one worker of v2.0.0.
        liar: Registered as v1.0.0.
    """

    v1: tuple[StubWorker, StubWorker]
    v2: StubWorker
    liar: StubWorker

    @property
    def expected(self) -> dict[str, str]:
        """By version: the first 8 hex of the DNA of its runtime."""
        return {"v1.0.0": self.v1[0].digests.dna()[:8], "v2.0.0": self.v2.digests.dna()[:8]}

    @property
    def registered(self) -> dict[str, StubWorker]:
        """All workers by service id."""
        return {"stub-1a": self.v1[0], "stub-1b": self.v1[1], "stub-2": self.v2, "stub-liar": self.liar}

    def register(self, agent: ConsulAgent, *ids: str, **more: Any) -> None:
        """Register workers, all of them where none is named."""
        for service_id in ids or self.registered:
            worker = self.registered[service_id]
            meta = {"version": worker.version, "model_id": MODEL, "dna": worker.digests.dna()[:8]}
            agent.register(
                {"Name": SERVICE, "ID": service_id, "Address": worker.host, "Port": worker.port, "Meta": meta} | more
            )

    def documents(self, *, canary: float = 20.0, **fields: Any) -> dict[str, str]:
        """The documents by key; `fields` are of both contracts."""
        contracts = [self.contract(worker, **fields) for worker in (self.v1[0], self.v2)]
        route = {
            "model_id": MODEL,
            "default": "v1.0.0",
            "sticky": "header:X-User-Id",
            "canary_rules": [{"version": "v2.0.0", "traffic_percentage": canary}],
        }
        keyed = {f"inference/contracts/{MODEL}/{one['version']}": json.dumps(one) for one in contracts}
        return {**keyed, ROUTE: json.dumps(route)}

    def contract(self, worker: StubWorker, **fields: Any) -> dict[str, Any]:
        """The contract that a worker fulfils, its instances from the service."""
        document = contract_for(worker, service=SERVICE, **fields)
        del document["instances"]
        return document


@contextlib.contextmanager
def enlisted_fleet() -> Iterator[EnlistedFleet]:
    """Run the workers."""
    made = [
        StubWorker(version=version, seed=seed, name=name)
        for version, seed, name in (
            ("v1.0.0", "a", "1a"),
            ("v1.0.0", "a", "1b"),
            ("v2.0.0", "b", "2"),
            ("v1.0.0", "c", "liar"),
        )
    ]
    with workers(*made) as (first, second, third, liar):
        yield EnlistedFleet((first, second), third, liar)


@contextlib.contextmanager
def gateway_at(agent: ConsulAgent, folder: Path, *, options: str = "", **settings: Any) -> Iterator[GatewayProcess]:
    """Run a gateway on this agent, its copy of the documents below the folder; wait until it serves all there is."""
    source = f"consul://{agent.address}/inference{options}"
    settings = {"source_jitter": 0, "kept_folder": folder / "kept", **settings}
    with GatewayProcess(folder, source=source, **settings) as gateway:
        gateway.wait_verified(3)
        yield gateway


def share_of_canary(gateway: GatewayProcess) -> float:
    """The percentage of the canary rule that is in force, asked for by what costs a gateway with many models least."""
    for number in itertools.count():
        owned = gateway.admin(f"/explain?model={MODEL}&sticky=key-{number}")[1]["canary"]["slice"]
        if owned is not None:
            share: float = round(100 * (owned["high"] - owned["low"]), 6)
            return share
    raise AssertionError("numbers end")


def edit(at: ConsulAgent, gateway: GatewayProcess, fleet: EnlistedFleet, share: float, *, within_s: float = 15) -> None:
    """Change the route at a server, by a plain write, and wait until it is in force."""
    at.put(ROUTE, fleet.documents(canary=share)[ROUTE])
    gateway.wait_for(lambda: share_of_canary(gateway) == share, what=f"{share} %", timeout_s=within_s)
