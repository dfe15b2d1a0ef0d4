"""Workers that speak TLS and are found through a real Consul: `Meta.scheme` says so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import trustme

from tests.support.certificates import context_for, written
from tests.support.command import as_process
from tests.support.consul import ConsulAgent
from tests.support.gateway_process import GatewayProcess, http
from tests.support.stub_worker import StubWorker, contract_for, workers

SERVICE = "bert"
TLS = {"scheme": "https"}


class Fleet:
    """One worker that speaks TLS, one that does not, one whose certificate nobody here trusts, and a gateway."""

    def __init__(self, consul: ConsulAgent, folder: Path, authority: trustme.CA) -> None:
        self.consul = consul
        self.source = f"consul://{consul.address}/inference"
        self.ca_file = written(authority, folder)
        self.secure = StubWorker("v1.0.0", name="secure", tls=context_for(authority, "localhost"))
        self.plain = StubWorker("v2.0.0", seed="b", name="plain")
        self.foreign = StubWorker("v1.0.0", name="foreign", tls=context_for(trustme.CA(), "localhost"))
        self.gateway = GatewayProcess(folder / "gateway", source=self.source, worker_ca_file=self.ca_file)

    def register(self, service_id: str, worker: StubWorker, **meta: str) -> None:
        said = {"version": worker.version, "model_id": worker.model_id, **meta}
        self.consul.register(
            {"Name": SERVICE, "ID": service_id, "Address": "localhost", "Port": worker.port, "Meta": said}
        )

    def put(self, worker: StubWorker) -> None:
        document = contract_for(worker, service=SERVICE)
        del document["instances"]
        self.consul.put(f"inference/contracts/{worker.model_id}/{worker.version}", document)

    def instance(self, worker: StubWorker) -> dict[str, Any]:
        return self.gateway.instances()[f"localhost:{worker.port}"]

    def faults(self) -> dict[str, tuple[str, str]]:
        (service,) = self.gateway.status()["services"]
        return {one["registration"]: (one["oddity"], one["message"]) for one in service["faults"]}

    def answered_by(self, version: str) -> str:
        status, _, body = http(f"{self.gateway.url}/{version}/p", method="POST", body=b"{}")
        assert status == 200, body
        return str(json.loads(body)["worker"])


@pytest.fixture(scope="module")
def fleet(consul: ConsulAgent, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    made = Fleet(consul, tmp_path_factory.mktemp("fleet"), trustme.CA())
    with ExitStack() as stack:
        stack.enter_context(workers(made.secure, made.plain, made.foreign))
        made.put(made.secure)
        made.put(made.plain)
        made.register("secure", made.secure, **TLS)
        made.register("plain", made.plain)
        stack.enter_context(made.gateway)
        made.gateway.wait_verified(2)
        yield made


def test_a_worker_that_speaks_tls_is_probed_verified_and_answers_beside_one_that_does_not(fleet: Fleet) -> None:
    assert fleet.instance(fleet.secure)["url"] == f"https://localhost:{fleet.secure.port}"
    assert fleet.instance(fleet.plain)["url"] == f"http://localhost:{fleet.plain.port}"
    assert [fleet.answered_by("v1.0.0") for _ in range(3)] == ["secure"] * 3
    assert fleet.answered_by("v2.0.0") == "plain"
    assert fleet.faults() == {}


def test_enroll_asks_it_by_tls_too(fleet: Fleet) -> None:
    words = ("contract", "enroll", fleet.secure.model_id, "v1.0.0", "--source", fleet.source)
    code, _, shown = as_process(*words, variables={"GATEWAY_WORKER_CA_FILE": str(fleet.ca_file)})

    assert code == 0, shown
    assert f"localhost:{fleet.secure.port}" in shown
    assert "accepted already" in shown


def test_a_certificate_that_is_not_trusted_keeps_a_worker_out(fleet: Fleet) -> None:
    fleet.register("foreign", fleet.foreign, **TLS)
    try:
        fleet.gateway.wait_for(lambda: bool(fleet.instance(fleet.foreign)["last_probe"]), what="its probe")
        shown = fleet.instance(fleet.foreign)
        answers = {fleet.answered_by("v1.0.0") for _ in range(10)}
    finally:
        fleet.consul.deregister("foreign")

    assert shown["identity"] == "unverified"
    assert "certificate verify failed" in shown["last_probe"]["detail"]
    assert answers == {"secure"}
    assert fleet.foreign.seen == []


def test_another_scheme_and_a_second_one_for_an_address_are_shown_and_not_used(fleet: Fleet) -> None:
    fleet.register("grpc", fleet.foreign, scheme="grpc")
    fleet.register("twin", fleet.secure)
    try:
        fleet.gateway.wait_for(lambda: len(fleet.faults()) == 2, what="both faults")
        faults, urls = fleet.faults(), {one["url"] for one in fleet.gateway.status()["instances"]}
        answered_by = fleet.answered_by("v1.0.0")
    finally:
        fleet.consul.deregister("grpc")
        fleet.consul.deregister("twin")

    assert faults["node/grpc"] == (
        "unreadable",
        'Meta.scheme: "grpc" is no scheme; write http or https, or leave it out',
    )
    assert faults["node/twin"][0] == "duplicate"
    assert "has the address of node/secure, which says another Meta.scheme" in faults["node/twin"][1]
    assert urls == {f"https://localhost:{fleet.secure.port}", f"http://localhost:{fleet.plain.port}"}
    assert answered_by == "secure"


def test_a_worker_that_changes_its_scheme_begins_anew(fleet: Fleet) -> None:
    """Nothing that was known of it as plain HTTP, its open connections least of all, serves it as TLS."""
    fleet.register("secure", fleet.secure)
    fleet.gateway.wait_for(lambda: fleet.instance(fleet.secure)["url"].startswith("http:"), what="plain HTTP")
    fleet.gateway.wait_for(lambda: bool(fleet.instance(fleet.secure)["last_probe"]), what="a probe in vain")
    assert fleet.instance(fleet.secure)["identity"] == "unverified"

    fleet.register("secure", fleet.secure, **TLS)
    fleet.gateway.wait_verified(2)
    assert fleet.answered_by("v1.0.0") == "secure"
