"""W10: the network to Consul is cut without a word, every packet dropped; nothing is reset and no link goes down."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from gateway.sources.consul.address import parse_address
from gateway.sources.consul.client import ConsulClient
from gateway.sources.consul.failed import ConsulFailed, FailureKind
from tests.support.consul import ConsulAgent
from tests.support.cut_network import CutNetwork, cut_network
from tests.support.gateway_process import GatewayProcess
from tests.support.long import LONG
from tests.support.stub_worker import StubWorker, contract_for
from tests.support.traffic import Traffic

pytestmark = pytest.mark.slow

NOTICED_S = 15.0
BUSY_S = 5.0
"""What two busy cores add."""


@pytest.fixture(scope="module")
def network() -> Iterator[CutNetwork]:
    with cut_network() as made:
        yield made


@pytest.fixture(scope="module")
def far(network: CutNetwork, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsulAgent]:
    """A Consul behind that network."""
    agent = ConsulAgent(tmp_path_factory.mktemp("consul"), host=network.there, namespace=network.namespace)
    try:
        agent.start()
        yield agent
    finally:
        agent.end()


@pytest.fixture
def worker() -> Iterator[StubWorker]:
    with StubWorker() as running:
        yield running


def test_a_cut_is_noticed_what_is_known_serves_on_and_an_edit_counts_once_it_heals(
    network: CutNetwork, far: ConsulAgent, worker: StubWorker, tmp_path: Path
) -> None:
    key = "inference/contracts/m/v1.0.0"
    far.put(key, json.dumps(contract_for(worker)))
    with GatewayProcess(tmp_path, source=f"consul://{far.address}/inference") as gateway:
        gateway.wait_verified(1)
        with Traffic(gateway.port, {"v1.0.0": worker.digests.dna()[:8]}) as traffic:
            began = time.monotonic()
            network.cut()
            try:
                gateway.wait_for(lambda: not gateway.status()["source"]["ok"], what="the cut to show", timeout_s=40)
                noticed_s = time.monotonic() - began
                source, states = gateway.status()["source"], [one["state"] for one in gateway.status()["documents"]]
            finally:
                network.heal()
            gateway.wait_for(lambda: gateway.status()["source"]["ok"], what="Consul to be read again")
            far.put(key, json.dumps(contract_for(worker, strikes=7)))
            generation = gateway.status()["generation"]
            gateway.wait_for(lambda: gateway.status()["generation"] > generation, what="the edit")
        traffic.assert_unharmed(at_least=300)

    assert noticed_s < NOTICED_S + BUSY_S
    (problem,) = source["problems"]
    assert problem == f"{source['place']} is silent: its machine is gone, or the network to it is cut"
    assert states == ["ok"]


def test_a_read_that_waits_and_one_that_was_just_sent_both_notice(network: CutNetwork, far: ConsulAgent) -> None:
    """The kernel probes a connection that waits; one with unacknowledged bytes it does not, and ends it, too."""
    address = parse_address(f"consul://{far.address}/inference", {})

    async def story() -> list[tuple[FailureKind, float]]:
        async with AsyncExitStack() as stack:
            waiting, sent = ConsulClient(address), ConsulClient(address)
            for client in (waiting, sent):
                stack.push_async_callback(client.close)
            index = (await waiting.read("/v1/kv/inference/")).index
            assert (await sent.read("/v1/kv/inference/")).index == index
            async with asyncio.TaskGroup() as group:
                first = group.create_task(_failure(waiting, index))
                await asyncio.sleep(1)
                network.cut()
                try:
                    second = group.create_task(_failure(sent, index))
                    await asyncio.wait([first, second])
                finally:
                    network.heal()
            assert (await sent.read("/v1/kv/inference/")).index is not None
        return [first.result(), second.result()]

    for kind, seconds in asyncio.run(story()):
        assert kind is FailureKind.TIMEOUT
        assert seconds < NOTICED_S + BUSY_S


async def _failure(client: ConsulClient, index: int | None) -> tuple[FailureKind, float]:
    """Wait for a change; give how that failed, and after how many seconds."""
    began = time.monotonic()
    with pytest.raises(ConsulFailed) as raised:
        await client.read("/v1/kv/inference/", {"recurse": "1"}, index=index)
    return raised.value.kind, time.monotonic() - began


@LONG
def test_a_read_that_waits_longer_than_any_probe_lives_while_the_network_is_whole(far: ConsulAgent) -> None:
    far.put("idle/key", "value")

    async def story() -> float:
        client = ConsulClient(parse_address(f"consul://{far.address}/idle", {}))
        try:
            index = (await client.read("/v1/kv/idle/")).index
            began = time.monotonic()
            assert (await client.read("/v1/kv/idle/", {"recurse": "1"}, index=index, wait_s=62)).index == index
            return time.monotonic() - began
        finally:
            await client.close()

    assert asyncio.run(story()) >= 62
