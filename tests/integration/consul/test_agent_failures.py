"""One Consul agent fails while requests run: nothing answers wrongly, and nothing that could be answered fails."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.consul import ConsulAgent, running_consul
from tests.support.enlisted_fleet import ROUTE, EnlistedFleet, edit, gateway_at, share_of_canary
from tests.support.gateway_process import GatewayProcess
from tests.support.traffic import Traffic

pytestmark = pytest.mark.slow

CONTRACT = "inference/contracts/m/v1.0.0"


@pytest.fixture(scope="module")
def agent(fleet: EnlistedFleet) -> Iterator[ConsulAgent]:
    with running_consul() as made:
        made.put_all(fleet.documents())
        fleet.register(made)
        yield made


@pytest.fixture(scope="module")
def gateway(agent: ConsulAgent, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    with gateway_at(agent, tmp_path_factory.mktemp("gateway")) as made:
        yield made


def state_of(gateway: GatewayProcess, key: str) -> tuple[str, str]:
    """State of a document and its first fault."""
    entry = next(one for one in gateway.status()["documents"] if one["key"] == key)
    return entry["state"], entry["faults"][0]["message"] if entry["faults"] else ""


def test_an_edit_by_plain_put_is_in_force_in_a_moment(
    agent: ConsulAgent, gateway: GatewayProcess, fleet: EnlistedFleet
) -> None:
    with Traffic(gateway.port, fleet.expected) as traffic:
        time.sleep(0.5)
        for share in (30.0, 35.0):
            began = time.monotonic()
            edit(agent, gateway, fleet, share)
            took = time.monotonic() - began
            assert took < 2.0, took  # a second, and what two busy cores add
            time.sleep(1.5)
    traffic.assert_unharmed(at_least=150)


def test_broken_text_by_plain_put_changes_nothing_and_shows_red(
    agent: ConsulAgent, gateway: GatewayProcess, fleet: EnlistedFleet
) -> None:
    good = fleet.documents()[CONTRACT]
    with Traffic(gateway.port, fleet.expected) as traffic:
        agent.put(CONTRACT, good[:-7])
        gateway.wait_for(lambda: state_of(gateway, "contracts/m/v1.0.0")[0] == "rejected", what="the fault to show")
        generation = gateway.status()["generation"]
        time.sleep(1)
        agent.put(CONTRACT, good.replace('"v1.0.0"', '"v1.0.1"'))
        gateway.wait_for(
            lambda: "does not agree with the key" in state_of(gateway, "contracts/m/v1.0.0")[1], what="the other fault"
        )
        assert gateway.status()["generation"] == generation
        agent.put(CONTRACT, good)
        gateway.wait_for(lambda: state_of(gateway, "contracts/m/v1.0.0")[0] == "ok", what="the mended document")
    traffic.assert_unharmed(at_least=150)


def test_w15_a_hundred_foreign_writes_a_second(
    agent: ConsulAgent, gateway: GatewayProcess, fleet: EnlistedFleet
) -> None:
    with Traffic(gateway.port, fleet.expected) as traffic:
        time.sleep(1)
        generation = gateway.status()["generation"]
        before = cpu_seconds(gateway)
        began = time.monotonic()
        for number in range(500):
            agent.put(f"elsewhere/{number % 50}", str(number))
            time.sleep(max(0.0, began + (number + 1) / 100 - time.monotonic()))
        spent = (cpu_seconds(gateway) - before) / (time.monotonic() - began)
        assert gateway.status()["generation"] == generation
    traffic.assert_unharmed(at_least=400)
    assert spent < 0.7, f"{spent:.0%} of a core"


def cpu_seconds(gateway: GatewayProcess) -> float:
    """Processor time of a gateway so far."""
    fields = Path(f"/proc/{gateway.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def test_w1_w16_a_snapshot_is_restored_and_the_index_goes_back(
    agent: ConsulAgent, gateway: GatewayProcess, fleet: EnlistedFleet
) -> None:
    edit(agent, gateway, fleet, 40.0)
    with Traffic(gateway.port, fleet.expected) as traffic:
        snapshot = agent.snapshot()
        for share in (41.0, 42.0):
            agent.put(ROUTE, fleet.documents(canary=share)[ROUTE])
        edit(agent, gateway, fleet, 43.0)  # the state that will be lost
        time.sleep(1.5)
        agent.restore(snapshot)
        gateway.wait_for(lambda: share_of_canary(gateway) == 40.0, what="the state that was restored")
        edit(agent, gateway, fleet, 44.0)
    traffic.assert_unharmed(at_least=200)


def test_w9_w25_the_agent_restarts_with_nothing(
    agent: ConsulAgent, gateway: GatewayProcess, fleet: EnlistedFleet
) -> None:
    with Traffic(gateway.port, fleet.expected) as traffic:
        time.sleep(0.5)
        agent.restart()
        gateway.wait_for(
            lambda: gateway.status()["source"]["problems"] and gateway.status()["services"][0]["kept"] == 4,
            what="the gateway to miss everything",
        )
        time.sleep(2)
        assert {one["state"] for one in gateway.status()["documents"]} == {"missing"}
        fleet.register(agent, "stub-liar")  # the first that comes back, and the last that may answer
        gateway.wait_for(lambda: gateway.status()["services"][0]["kept"] == 3, what="the first to come back")
        fleet.register(agent)
        agent.put_all(fleet.documents(canary=50.0))
        gateway.wait_for(lambda: share_of_canary(gateway) == 50.0, what="the documents to come back")
        gateway.wait_for(lambda: gateway.status()["services"][0]["ok"], what="the instances to come back")
        time.sleep(0.5)
    traffic.assert_unharmed(at_least=300)
    assert {one["state"] for one in gateway.status()["documents"]} == {"ok"}


RIGHTS = """
key_prefix "inference/" { policy = "list" }
key_prefix "inference-fleet/" { policy = "write" }
session_prefix "" { policy = "write" }
service_prefix "" { policy = "read" }
node_prefix "" { policy = "read" }
"""


def test_w5_the_token_is_revoked_and_another_one_given(fleet: EnlistedFleet, tmp_path: Path) -> None:
    with running_consul(acl=True) as agent:
        agent.put_all(fleet.documents())
        fleet.register(agent)
        agent.new_policy("gateway", RIGHTS)
        accessor, secret = agent.new_token("gateway")
        token = tmp_path / "token"
        token.write_text(secret)
        with gateway_at(agent, tmp_path, options=f"?token_file={token}") as gateway:
            known = {"accessor": accessor, "policies": ["gateway"], "problem": ""}
            gateway.wait_for(lambda: gateway.status()["rights"] == known, what="whose token it is")
            status = subprocess.run(
                [sys.executable, "-m", "gateway.cli.main", "status", "--admin", f"http://127.0.0.1:{gateway.admin_port}"],
                capture_output=True, text=True,
            )  # fmt: skip
            assert f"token: {accessor} (gateway)" in status.stdout
            with Traffic(gateway.port, fleet.expected) as traffic:
                agent.revoke(accessor)
                agent.put(ROUTE, fleet.documents(canary=60.0)[ROUTE])  # wakes the waiting read, as time would
                gateway.wait_for(lambda: not gateway.status()["source"]["ok"], what="the loss to show")
                time.sleep(2)
                problems = json.dumps(gateway.status()["source"]["problems"])
                token.write_text(agent.new_token("gateway")[1])
                gateway.wait_for(lambda: share_of_canary(gateway) == 60.0, what="the new token", timeout_s=40)
                gateway.wait_for(lambda: gateway.status()["services"][0]["ok"], what="the service", timeout_s=40)
            traffic.assert_unharmed(at_least=200)
            assert "Consul does not know the token" in problems
            assert secret not in gateway.log() + problems
