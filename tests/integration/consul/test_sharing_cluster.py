"""Verdicts shared through three Consul servers that lose their leader, and through one that is restored."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.consul import ConsulAgent, ConsulCluster, running_cluster
from tests.support.gateway_process import GatewayProcess, write_documents
from tests.support.long import LONG
from tests.support.stub_worker import StubWorker, contract_for, workers
from tests.support.traffic import Traffic

pytestmark = [LONG, pytest.mark.slow]

NAMES = ("a", "b")
WORKERS = 6
EVERYWHERE_S = 4.0
"""A probe interval, the two seconds of the promise, and what two busy cores add."""


class Pair:
    """Two gateways, each at a server of its own, and the workers they share."""

    def __init__(self, folder: Path, agents: dict[str, ConsulAgent], stubs: list[StubWorker], stack: ExitStack) -> None:
        self.agents = agents
        self.stubs = stubs
        self.expected = {"v1.0.0": stubs[0].digests.dna()[:8]}
        self.gateways = {
            name: stack.enter_context(
                GatewayProcess(
                    folder,
                    probe_interval=0.5,
                    id=name,
                    share_verdicts=f"consul://{agent.address}/inference",
                    share_probers=1,
                )
            )
            for name, agent in agents.items()
        }

    def sharing(self, name: str) -> dict[str, Any]:
        state = self.gateways[name].status()["sharing"]
        assert isinstance(state, dict)
        return state

    def wait_shared(self) -> None:
        """Wait until the two share all instances, each of which one of them probes."""
        for name, gateway in self.gateways.items():
            gateway.wait_for(lambda name=name: len(self.sharing(name)["members"]) == 2, what="both", timeout_s=30)  # type: ignore[misc]
            gateway.wait_verified(WORKERS, timeout_s=30)
        first = self.gateways["a"]
        first.wait_for(lambda: sum(self.sharing(name)["probed"] for name in NAMES) == WORKERS, what="shares")

    def assert_ejects_everywhere(self, stub: StubWorker) -> None:
        """Let a worker drift and come back: both gateways hear of both."""
        stub.seed = "b"
        for gateway in self.gateways.values():
            gateway.wait_for(
                lambda gateway=gateway: self.identity(gateway, stub) == "ejected",  # type: ignore[misc]
                what="the ejection",
                timeout_s=EVERYWHERE_S,
            )
        stub.seed = "a"
        for gateway in self.gateways.values():
            gateway.wait_verified(WORKERS, timeout_s=30)

    def identity(self, gateway: GatewayProcess, stub: StubWorker) -> str:
        return str(next(one["identity"] for one in gateway.status()["instances"] if one["url"] == stub.url))


@pytest.fixture(scope="module")
def cluster() -> Iterator[ConsulCluster]:
    with running_cluster(3, autopilot={"cleanup_dead_servers": False}) as made:
        yield made


@pytest.fixture(scope="module")
def pair(cluster: ConsulCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("documents")
    agents = dict(zip(NAMES, cluster.followers(), strict=True))
    with workers(*(StubWorker(name=str(number)) for number in range(WORKERS))) as stubs, ExitStack() as stack:
        write_documents(folder, contract_for(*stubs))
        made = Pair(folder, agents, list(stubs), stack)
        made.wait_shared()
        yield made


def test_the_leader_dies_and_verdicts_are_shared_through_the_next(cluster: ConsulCluster, pair: Pair) -> None:
    leader = cluster.leader()
    with Traffic(pair.gateways["a"].port, pair.expected, per_s=50) as traffic:
        leader.stop()
        cluster.leader()
        pair.wait_shared()
        pair.assert_ejects_everywhere(pair.stubs[1])
        leader.start()
    traffic.assert_unharmed(at_least=100)


def test_a_restored_snapshot_buries_nobody_who_lives_and_keeps_no_ghost(cluster: ConsulCluster, pair: Pair) -> None:
    """The snapshot holds members and sessions of before; the index goes back, and everybody joins again."""
    pair.wait_shared()
    snapshot = cluster.leader().snapshot()
    for gateway in pair.gateways.values():
        gateway.wait_verified(WORKERS)
    with Traffic(pair.gateways["b"].port, pair.expected, per_s=50) as traffic:
        time.sleep(2.5)  # beats go on: what is restored is of the past
        cluster.leader().restore(snapshot)
        time.sleep(1)
        pair.wait_shared()
        pair.assert_ejects_everywhere(pair.stubs[2])
    traffic.assert_unharmed(at_least=100)
