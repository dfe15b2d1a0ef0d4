"""A real gateway, a real Consul: instances that find themselves, as operators and clients see it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.consul import ConsulAgent, running_consul
from tests.support.enlisted_fleet import SERVICE, EnlistedFleet, gateway_at
from tests.support.gateway_process import GatewayProcess
from tests.support.traffic import Traffic


@pytest.fixture(scope="module")
def agent(fleet: EnlistedFleet) -> Iterator[ConsulAgent]:
    with running_consul() as made:
        made.put_all(fleet.documents())
        fleet.register(made)
        yield made


@pytest.fixture(scope="module")
def gateway(agent: ConsulAgent, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    with gateway_at(agent, tmp_path_factory.mktemp("gateway"), slow_start=0) as made:
        yield made


def dna_status(gateway: GatewayProcess) -> str:
    """What `dna status` prints, in wide lines."""
    words = [sys.executable, "-m", "gateway.cli.main", "status", "--admin", f"http://127.0.0.1:{gateway.admin_port}"]
    environment = {**os.environ, "COLUMNS": "400"}
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout


def test_every_registered_instance_is_shown_with_what_its_registration_says(
    gateway: GatewayProcess, fleet: EnlistedFleet
) -> None:
    gateway.wait_for(
        lambda: gateway.instances()[f"127.0.0.1:{fleet.liar.port}"]["identity"] == "ejected", what="the liar's end"
    )
    one = gateway.instances()[f"127.0.0.1:{fleet.v2.port}"]

    assert (one["version"], one["identity"], one["registration"]) == ("v2.0.0", "verified", "node/stub-2")
    assert one["registered_dna"] == fleet.expected["v2.0.0"]
    (service,) = gateway.status()["services"]
    assert (service["service"], service["ok"], service["registrations"], service["faults"]) == (SERVICE, True, 4, [])


def test_w18_a_gateway_that_starts_without_consul_serves_from_its_copies(fleet: EnlistedFleet, tmp_path: Path) -> None:
    with running_consul() as away:
        away.put_all(fleet.documents())
        fleet.register(away)
        with gateway_at(away, tmp_path):
            pass
    with gateway_at(away, tmp_path) as started:
        with Traffic(started.port, fleet.expected) as traffic:
            time.sleep(1)
        (service,) = started.status()["services"]
    traffic.assert_unharmed(at_least=50)
    assert (service["ok"], service["kept"]) == (False, 4)


def test_maintenance_drains_without_an_error_and_says_by_whose_wish(
    agent: ConsulAgent, gateway: GatewayProcess, fleet: EnlistedFleet
) -> None:
    name = f"127.0.0.1:{fleet.v1[0].port}"
    with Traffic(gateway.port, fleet.expected) as traffic:
        time.sleep(0.3)
        agent.maintain("stub-1a", enable=True, reason="disk")
        gateway.wait_for(lambda: not gateway.instances()[name]["ready"], what="maintenance")
        shown = gateway.instances()[name]
        seen = len(fleet.v1[0].seen)
        time.sleep(0.5)
        assert len(fleet.v1[0].seen) == seen
        agent.maintain("stub-1a", enable=False)
        gateway.wait_for(lambda: gateway.instances()[name]["ready"], what="the end of maintenance")
        time.sleep(0.3)
    traffic.assert_unharmed(at_least=100)
    assert shown["reason"] == "draining: by an operator's wish: disk"
    assert shown["draining"] == "by an operator's wish: disk"
    told = [(one["event"], one["instance"]) for one in gateway.records() if one["event"].startswith("instance_")]
    assert ("instance_draining", name) in told
    assert ("instance_undrained", name) in told


def test_w20_deregistered_under_traffic(agent: ConsulAgent, gateway: GatewayProcess, fleet: EnlistedFleet) -> None:
    name = f"127.0.0.1:{fleet.v1[0].port}"
    fleet.v1[0].delay_s = 0.5
    try:
        with Traffic(gateway.port, fleet.expected) as traffic:
            time.sleep(0.3)
            agent.deregister("stub-1a")
            gateway.wait_for(lambda: name not in gateway.instances(), what="the instance to leave")
            seen = len(fleet.v1[0].seen)
            time.sleep(0.7)
            assert len(fleet.v1[0].seen) == seen
            fleet.register(agent, "stub-1a")
            gateway.wait_verified(3)
        traffic.assert_unharmed(at_least=100)
    finally:
        fleet.v1[0].delay_s = 0.0


def test_weights_share_the_requests_and_explain_shows_them(
    agent: ConsulAgent, gateway: GatewayProcess, fleet: EnlistedFleet
) -> None:
    heavy, light = fleet.v1
    fleet.register(agent, "stub-1a", Weights={"Passing": 9, "Warning": 1})
    gateway.wait_for(lambda: gateway.instances()[f"127.0.0.1:{heavy.port}"]["weight"] == 9.0, what="the weight")
    before = len(heavy.seen), len(light.seen)
    with Traffic(gateway.port, {"v1.0.0": fleet.expected["v1.0.0"]}, per_s=200) as traffic:
        time.sleep(2)
    traffic.assert_unharmed(at_least=200)
    got = Counter(heavy=len(heavy.seen) - before[0], light=len(light.seen) - before[1])
    told = gateway.admin("/explain?model=m&preference=v1.0.0")[1]
    fleet.register(agent, "stub-1a")

    assert got["heavy"] > 4 * got["light"], got
    weights = {one["instance"]: one["weight"] for one in told["candidates"]}
    assert weights[f"127.0.0.1:{heavy.port}"] == 9.0
    assert weights[f"127.0.0.1:{light.port}"] == 1.0


def test_what_is_odd_is_told_alike_by_status_command_log_and_metrics(
    agent: ConsulAgent, gateway: GatewayProcess, fleet: EnlistedFleet
) -> None:
    odd = {"Name": SERVICE, "Address": "127.0.0.1"}
    agent.register({**odd, "ID": "nameless", "Port": 9})
    agent.register({**odd, "ID": "early", "Port": 10, "Meta": {"version": "v9.0.0"}})
    agent.register({**odd, "ID": "twin", "Port": fleet.v2.port, "Meta": {"version": "v2.0.0", "model_id": "m"}})
    agent.register({**odd, "ID": "claim", "Port": fleet.v2.port, "Meta": {"version": "v1.0.0", "model_id": "m"}})
    try:
        gateway.wait_for(lambda: len(gateway.status()["services"][0]["faults"]) == 6, what="the faults")
        (service,) = gateway.status()["services"]
        printed = dna_status(gateway)
        metrics = gateway.admin("/metrics")[1]
        gateway.wait_for(lambda: sum(r["event"] == "registration_odd" for r in gateway.records()) == 6, what="log")
        with Traffic(gateway.port, fleet.expected) as traffic:
            time.sleep(1)
    finally:
        for service_id in ("nameless", "early", "twin", "claim"):
            agent.deregister(service_id)
    gateway.wait_for(lambda: gateway.status()["services"][0]["faults"] == [], what="the faults to be mended")

    kinds = Counter((fault["registration"], fault["oddity"]) for fault in service["faults"])
    assert kinds[("node/nameless", "unreadable")] == kinds[("node/early", "no_contract")] == 1
    assert kinds[("node/twin", "duplicate")] == kinds[("node/claim", "shared_address")] == 1
    assert "names no version; write it into Meta.version" in printed
    assert 'gateway_catalogue_odd_registrations{oddity="no_contract",service="stub"} 1.0' in metrics
    traffic.assert_unharmed(at_least=50)
