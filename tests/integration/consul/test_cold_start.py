"""The gateway as it ships starts while Consul is away: from its copy, or it waits; never from an empty table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import in_process
from tests.support.consul import ConsulAgent, Ports, running_consul
from tests.support.gateway_process import GatewayProcess, http
from tests.support.stub_worker import StubWorker, contract_for

OLD, NEW = "v1.0.0", "v2.0.0"


@pytest.fixture(scope="module")
def stubs() -> Iterator[tuple[StubWorker, StubWorker]]:
    """One worker of each version; they share nothing but the model."""
    with StubWorker(version=OLD, seed="a") as old, StubWorker(version=NEW, seed="b") as new:
        yield old, new


def documents_of(stubs: tuple[StubWorker, StubWorker], **fields: Any) -> dict[str, str]:
    contracts = {f"inference/contracts/m/{stub.version}": contract_for(stub, **fields) for stub in stubs}
    return {key: json.dumps(value) for key, value in contracts.items()} | {
        "inference/routes/m": json.dumps({"model_id": "m", "default": OLD})
    }


@contextmanager
def gateway_on(address: str, folder: Path, **settings: Any) -> Iterator[GatewayProcess]:
    source = f"consul://{address}/inference"
    kept = {"kept_folder": folder / "kept", **settings}
    with GatewayProcess(folder / "unused", source=source, **kept) as gateway:
        yield gateway


@pytest.mark.slow
def test_a_cold_start_without_consul_serves_from_the_copy(
    stubs: tuple[StubWorker, StubWorker], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running_consul() as agent:
        agent.put_all(documents_of(stubs))
        with gateway_on(agent.address, tmp_path) as gateway:
            gateway.wait_verified(2)
            agent.put(f"inference/contracts/m/{NEW}", "{")  # broken: the copy keeps its last good text
            gateway.wait_for(lambda: _state(gateway, f"contracts/m/{NEW}") == "rejected", what="the broken edit shown")
        with gateway_on(agent.address, tmp_path) as gateway:  # broken from the start: its last good state serves
            gateway.wait_verified(2)
            assert _state(gateway, f"contracts/m/{NEW}") == "rejected"
        address = agent.address
    with gateway_on(address, tmp_path) as gateway:
        gateway.wait_verified(2)
        source = gateway.status()["source"]
        assert not source["ok"]
        assert 0 <= source["kept_seconds_ago"] < 60
        _, said, _ = in_process(capsys)("status", "--admin", f"http://127.0.0.1:{gateway.admin_port}")
        assert "source: a copy on disk serves, confirmed" in said
        assert 'source="disk"' in _metrics(gateway)
        status, headers, _ = http(f"{gateway.url}/x", headers={"x-model-id": "m", "x-model-preference": NEW})
        assert (status, headers["x-model-version"]) == (200, NEW)
    with gateway_on(address, tmp_path, kept_limit=0.001, wait_ready=False) as gateway:
        _assert_waits(gateway, "days old")
    (copy,) = (tmp_path / "kept").glob("*.json")
    copy.write_bytes(copy.read_bytes()[:-200])
    with gateway_on(address, tmp_path, wait_ready=False) as gateway:  # W19: a damaged copy counts as none
        _assert_waits(gateway, "is damaged, so it counts as none")


def test_a_cold_start_without_anything_waits_and_then_serves(
    stubs: tuple[StubWorker, StubWorker], tmp_path: Path
) -> None:
    agent = ConsulAgent(tmp_path, ports=Ports.free())
    with gateway_on(agent.address, tmp_path, kept_folder="", wait_ready=False) as gateway:
        _assert_waits(gateway, "cannot be reached")
        try:
            agent.start()
            agent.put_all(documents_of(stubs))
            gateway.wait_verified(2, timeout_s=60)
            assert gateway.admin("/readyz")[0] == 200
        finally:
            agent.end()


def _assert_waits(gateway: GatewayProcess, why: str) -> None:
    """Alive, not ready, and 503 with a reason in place of a 404 from an empty table."""
    gateway.wait_for(lambda: why in json.dumps(gateway.admin("/readyz")[1]), what=f"a reason with {why!r}")
    assert gateway.admin("/livez")[0] == 200
    assert gateway.admin("/readyz")[0] == 503
    assert http(f"{gateway.url}/x", headers={"x-model-id": "m"})[0] == 503


def _state(gateway: GatewayProcess, key: str) -> str:
    return str({entry["key"]: entry["state"] for entry in gateway.status()["documents"]}[key])


def _metrics(gateway: GatewayProcess) -> str:
    return str(gateway.admin("/metrics")[1])
