"""Commands beside a gateway that reads the same Consul and accepts only signed documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from inference_dna.trust.keys import read_public_key
from inference_dna.trust.pem import new_key_pair
from tests.support.command import in_process
from tests.support.consul import ConsulAgent
from tests.support.desk import Desk
from tests.support.gateway_process import GatewayProcess, http
from tests.support.stub_worker import StubWorker, contract_for

PREFIX = "live"
KEY = "contracts/m/v1.0.0"


class Live:
    """A gateway, its workers, and the desk of its operator."""

    def __init__(self, desk: Desk, folder: Path, workers: tuple[StubWorker, StubWorker]) -> None:
        self.desk, self.workers, self.folder = desk, workers, folder
        self.source = f"consul://127.0.0.1:{desk.consul.ports.http}/{PREFIX}"

    @property
    def document(self) -> str:
        return json.dumps(contract_for(*self.workers))

    def gateway(self) -> GatewayProcess:
        return GatewayProcess(
            self.folder,
            source=self.source,
            wait_ready=False,
            contract_keys=self.folder / "key.pub",
            source_jitter=0,
            kept_folder="",
            share_verdicts="off",
        )

    @staticmethod
    def answered_by(gateway: GatewayProcess) -> set[str]:
        """The workers that answer thirty requests."""
        return {json.loads(_asked(gateway))["worker"] for _ in range(30)}


def _asked(gateway: GatewayProcess) -> bytes:
    status, _, body = http(f"{gateway.url}/v1.0.0/p", method="POST", body=b"{}", headers={"X-Model-Id": "m"})
    assert status == 200, body
    return body


@pytest.fixture
def live(
    consul: ConsulAgent, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Live]:
    for name, content in zip(("key", "key.pub"), new_key_pair(), strict=True):
        (tmp_path / name).write_bytes(content)
    desk = Desk(consul, PREFIX, tmp_path, in_process(capsys))
    monkeypatch.setenv("GATEWAY_SOURCE", f"consul://127.0.0.1:{consul.ports.http}/{PREFIX}")
    monkeypatch.setenv("GATEWAY_CONTRACT_KEYS", str(tmp_path / "key.pub"))
    with StubWorker(name="one") as one, StubWorker(name="two") as two:
        yield Live(desk, tmp_path, (one, two))


def test_signed_documents_and_a_drained_instance(live: Live) -> None:
    desk, key = live.desk, live.folder / "key"
    name = live.workers[0].url.removeprefix("http://")
    desk.put(KEY, live.document)  # not signed
    with live.gateway() as gateway:
        gateway.wait_for(lambda: gateway.status()["documents_by_state"]["rejected"] == 1, what="the refusal")
        status = gateway.status()
        kid = read_public_key((live.folder / "key.pub").read_bytes()).id
        assert status["signers"] == [kid]
        assert status["instances"] == []
        assert status["documents"][0]["faults"][0]["path"] == "/signature"
        assert "accepts only signed documents" in status["documents"][0]["faults"][0]["message"]

        mine = desk.file("mine.json", live.document)
        desk.good("contract", "apply", mine, "--yes", "--key", key)
        gateway.wait_verified(2)
        assert gateway.status()["documents"][0]["signed_by"] == kid
        assert live.answered_by(gateway) == {"one", "two"}

        signed = desk.text(KEY) or ""
        desk.put(KEY, signed.rstrip()[:-1] + ', "retries": 0}')
        gateway.wait_for(lambda: gateway.status()["documents_by_state"]["rejected"] == 1, what="the refusal")
        assert "was changed after signing" in gateway.status()["documents"][0]["faults"][0]["message"]
        assert live.answered_by(gateway) == {"one", "two"}  # its last good state serves on

        desk.good("contract", "rollback", "m", "v1.0.0", "--yes")
        gateway.wait_for(lambda: gateway.status()["documents_by_state"]["rejected"] == 0, what="the good text again")

        desk.good("drain", name, "--yes", "--key", key, "--reason", "disk")
        gateway.wait_for(lambda: gateway.instances()[name]["reason"].startswith("draining"), what="the drain")
        assert live.answered_by(gateway) == {"two"}
        assert "an operator took the instance out" in gateway.instances()[name]["reason"]

    with live.gateway() as gateway:  # it survives a restart
        gateway.wait_verified(2)
        assert live.answered_by(gateway) == {"two"}
        desk.good("undrain", name, "--yes", "--key", key)
        gateway.wait_for(lambda: not gateway.instances()[name]["reason"], what="the instance back")
        assert live.answered_by(gateway) == {"one", "two"}
