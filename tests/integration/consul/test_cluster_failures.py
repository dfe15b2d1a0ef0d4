"""Three Consul servers lose each other while requests run; two gateways are apart; ten thousand contracts arrive."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.consul import ConsulAgent, ConsulCluster, running_cluster
from tests.support.enlisted_fleet import EnlistedFleet, edit, gateway_at, share_of_canary
from tests.support.gateway_process import GatewayProcess, http
from tests.support.long import LONG
from tests.support.stub_worker import StubWorker, contract_for
from tests.support.traffic import Traffic

pytestmark = [LONG, pytest.mark.slow]


@pytest.fixture(scope="module")
def cluster(fleet: EnlistedFleet) -> Iterator[ConsulCluster]:
    """The workers are registered with the leader: when it dies, Consul calls all of them critical."""
    # A server that was away must not come back as one without a vote: the next failure needs it.
    with running_cluster(3, autopilot={"cleanup_dead_servers": False}) as made:
        leader = made.leader()
        leader.put_all(fleet.documents())
        fleet.register(leader)
        yield made


@pytest.fixture(scope="module")
def own(cluster: ConsulCluster) -> ConsulAgent:
    """The server that the gateway asks, no leader at the start."""
    return cluster.followers()[0]


@pytest.fixture(scope="module")
def gateway(
    own: ConsulAgent, fleet: EnlistedFleet, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    with gateway_at(own, tmp_path_factory.mktemp("gateway")) as made:
        yield made


def test_w8_the_leader_dies_and_takes_the_registrations_with_it(
    cluster: ConsulCluster, own: ConsulAgent, gateway: GatewayProcess, fleet: EnlistedFleet
) -> None:
    leader = cluster.leader()
    with Traffic(gateway.port, fleet.expected) as traffic:
        time.sleep(0.5)
        leader.stop()
        cluster.leader()
        edit(own, gateway, fleet, 21.0)
        own.until(lambda: any(_is_critical(one) for one in own.health("stub")), what="call the node critical")
        time.sleep(1.5)
        leader.start()
        edit(leader, gateway, fleet, 22.0)
    traffic.assert_unharmed(at_least=300)


def _is_critical(entry: dict[str, Any]) -> bool:
    return any(check["Status"] == "critical" for check in entry["Checks"])


def test_w10_the_server_of_the_gateway_freezes_and_comes_back(
    own: ConsulAgent, gateway: GatewayProcess, fleet: EnlistedFleet
) -> None:
    with Traffic(gateway.port, fleet.expected) as traffic:
        time.sleep(0.3)
        own.pause()
        time.sleep(4)
        own.resume()
        own.wait_ready()
        edit(own, gateway, fleet, 23.0)
    traffic.assert_unharmed(at_least=300)


def test_two_servers_of_three_freeze_and_nobody_leads(
    cluster: ConsulCluster, own: ConsulAgent, gateway: GatewayProcess, fleet: EnlistedFleet
) -> None:
    others = [agent for agent in cluster.agents if agent is not own]
    with Traffic(gateway.port, fleet.expected) as traffic:
        for agent in others:
            agent.pause()
        time.sleep(4)
        for agent in others:
            agent.resume()
        edit(cluster.leader(), gateway, fleet, 24.0, within_s=40)
    traffic.assert_unharmed(at_least=300)


def test_g5_two_gateways_apart_agree_on_every_key_but_for_what_the_edit_moved(
    cluster: ConsulCluster,
    own: ConsulAgent,
    gateway: GatewayProcess,
    fleet: EnlistedFleet,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    behind = next(agent for agent in cluster.followers() if agent is not own)
    keys = [f"user-{number}" for number in range(120)]
    edit(own, gateway, fleet, 20.0)
    with gateway_at(behind, tmp_path_factory.mktemp("second")) as second:
        second.wait_for(lambda: share_of_canary(second) == 20.0, what="the same documents")
        alike = {key: ask(gateway, key) for key in keys}, {key: ask(second, key) for key in keys}
        assert versions(alike[0]) == versions(alike[1])

        behind.pause()  # from here on its gateway learns nothing
        edit(own, gateway, fleet, 60.0)
        ahead, late = {key: ask(gateway, key) for key in keys}, {key: ask(second, key) for key in keys}
        buckets = [(bucket(gateway, key), bucket(second, key)) for key in keys[:30]]
        time.sleep(3)
        behind.resume()
        second.wait_for(lambda: share_of_canary(second) == 60.0, what="the late one to follow", timeout_s=30)
        again = {key: ask(second, key) for key in keys}

    assert all(mine == theirs for mine, theirs in buckets)
    assert (
        len({generation for _, generation in ahead.values()})
        == len({generation for _, generation in late.values()})
        == 1
    )
    assert versions(late) == versions(alike[1])
    assert {key for key, (version, _) in late.items() if version == "v2.0.0"} < {
        key for key, (version, _) in ahead.items() if version == "v2.0.0"
    }
    assert versions(again) == versions(ahead)
    assert next(iter(again.values()))[1] == next(iter(late.values()))[1] + 1


def code_of(gateway: GatewayProcess, model: str, version: str) -> str:
    """Why a request would get no answer."""
    code: str = gateway.admin(f"/explain?model={model}&preference={version}")[1]["code"]
    return code


def ask(gateway: GatewayProcess, key: str) -> tuple[str, int]:
    """One request of this user: the version that the worker stamped, and the generation that chose it."""
    status, headers, body = http(f"{gateway.url}/ask", headers={"X-Model-Id": "m", "X-User-Id": key})
    assert status == 200, body
    return json.loads(body)["version"], int(headers["x-config-generation"])


def versions(answers: dict[str, tuple[str, int]]) -> dict[str, str]:
    return {key: version for key, (version, _) in answers.items()}


def bucket(gateway: GatewayProcess, key: str) -> float:
    found: float = gateway.admin(f"/explain?model=m&sticky={key}")[1]["canary"]["bucket"]
    return found


def test_ten_thousand_contracts_arrive(own: ConsulAgent, gateway: GatewayProcess, fleet: EnlistedFleet) -> None:
    many = {
        f"inference/contracts/model-{number // 10}/v{number % 10}.0.0": json.dumps(
            contract_for(StubWorker(f"v{number % 10}.0.0", f"model-{number // 10}", str(number)), instances=[])
        )
        for number in range(10_000)
    }
    with Traffic(gateway.port, fleet.expected, per_s=50) as traffic:
        own.put_all(many)
        gateway.wait_for(
            lambda: code_of(gateway, "model-999", "v9.0.0") == "no_verified_instance", what="the last one", timeout_s=90
        )
        edit(own, gateway, fleet, 70.0, within_s=60)
    traffic.assert_unharmed(at_least=100)
