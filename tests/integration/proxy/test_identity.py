"""A drifted instance never answers: not one byte, not one client."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.support.gateway_process import free_port, http, running, write_documents
from tests.support.load import Outcome, crowd, fetch_all
from tests.support.raw import request
from tests.support.stub_worker import StubWorker, Turn, contract_for, workers

ASK = request("POST", "/generate", "X-Model-Preference: v1.0.0", body=b'{"text": "hi"}')


def kinds(outcomes: list[Outcome]) -> Counter[str]:
    """Count what clients got: `seed status code`, or the error."""
    counted: Counter[str] = Counter()
    for outcome in outcomes:
        if outcome.response is None:
            counted[str(outcome.error)] += 1
        else:
            counted[f"{outcome.status} {outcome.json.get('seed') or outcome.json.get('code')}"] += 1
    return counted


class WorkerProcess:
    """A stub worker that can be killed and replaced on its port."""

    def __init__(self, seed: str, *, port: int = 0, name: str = "w", delay_s: float = 0.0) -> None:
        self.port = port or free_port()
        self.stub = StubWorker(seed=seed, port=self.port, name=name)
        command = [
            sys.executable,
            "-m",
            "tests.support.stub_worker",
            "--port",
            str(self.port),
            "--seed",
            seed,
            "--name",
            name,
        ]
        self.process = subprocess.Popen([*command, "--delay-s", str(delay_s)])

    def wait(self) -> WorkerProcess:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            try:
                http(f"http://127.0.0.1:{self.port}/healthz", timeout_s=1)
            except OSError:
                time.sleep(0.05)
            else:
                return self
        raise AssertionError("the worker did not start")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)


@pytest.mark.parametrize("sibling", [pytest.param(True, id="healthy-sibling"), pytest.param(False, id="alone")])
def test_a_process_swapped_on_its_port_reaches_none_of_200_clients(tmp_path: Path, *, sibling: bool) -> None:
    first = WorkerProcess("a").wait()
    running_workers = [first]
    if sibling:
        running_workers.append(WorkerProcess("a", name="sibling").wait())
    write_documents(tmp_path, contract_for(*(worker.stub for worker in running_workers)))
    try:
        # Probes are far apart: only the check of answers can see the swap in time.
        with running(tmp_path, probe_interval=30) as gateway:
            gateway.wait_verified(len(running_workers))

            def swap() -> None:
                first.kill()
                running_workers.append(WorkerProcess("drifted", port=first.port).wait())
                time.sleep(1.5)

            outcomes = asyncio.run(crowd(gateway.port, lambda: ASK, clients=200, meanwhile=swap))
            instance = gateway.instances()[f"127.0.0.1:{first.port}"]
    finally:
        for worker in running_workers:
            worker.kill()

    counted = kinds(outcomes)
    assert not [kind for kind in counted if "drifted" in kind], counted
    assert counted["200 a"] > 200
    if sibling:
        assert set(counted) == {"200 a"}, counted
        assert instance["identity"] == "ejected"


def test_a_changed_dna_is_caught_by_the_answer_before_any_probe(tmp_path: Path) -> None:
    with workers(StubWorker(seed="a", name="one"), StubWorker(seed="a", name="two")) as (one, two):
        write_documents(tmp_path, contract_for(one, two))
        with running(tmp_path, probe_interval=30) as gateway:
            gateway.wait_verified(2)
            one.seed = "drifted"
            outcomes = asyncio.run(fetch_all(gateway.port, [ASK] * 200, at_once=200))
            states = gateway.instances()
            gateway.wait_for(
                lambda: any(r["event"] == "instance_ejected" for r in gateway.records()),
                what="the event of the ejection",
            )

        assert kinds(outcomes) == {"200 a": 200}
        assert states[f"127.0.0.1:{one.port}"]["identity"] == "ejected"
        assert states[f"127.0.0.1:{two.port}"]["identity"] == "verified"
        assert {o.response.header("x-route-attempts") for o in outcomes if o.response} == {"1", "2"}


def test_an_ejected_instance_comes_back_only_by_a_matching_probe(tmp_path: Path) -> None:
    with workers(StubWorker(seed="a")) as (worker,):
        write_documents(tmp_path, contract_for(worker))
        with running(tmp_path, probe_interval=0.3) as gateway:
            gateway.wait_verified(1)
            worker.seed = "drifted"
            gateway.wait_for(lambda: gateway.status()["instances"][0]["identity"] == "ejected", what="the ejection")
            refused = http(gateway.url + "/g", method="POST", body=b"{}")
            worker.seed = "a"
            gateway.wait_verified(1)
            served = http(gateway.url + "/g", method="POST", body=b"{}")

        assert (refused[0], served[0]) == (503, 200)


@pytest.mark.parametrize("retries", [0, 1])
def test_with_no_sibling_a_mismatch_is_502_dna_mismatch(tmp_path: Path, retries: int) -> None:
    with workers(StubWorker(seed="a")) as (worker,):
        write_documents(tmp_path, contract_for(worker, retries=retries))
        with running(tmp_path, probe_interval=30) as gateway:
            gateway.wait_verified(1)
            worker.seed = "drifted"
            status, headers, body = http(gateway.url + "/g", method="POST", body=b"{}")
            again, more, _ = http(gateway.url + "/g", method="POST", body=b"{}")

        problem = json.loads(body)
        assert (status, problem["code"]) == (502, "dna_mismatch")
        assert "digest" in problem["rejected"][0]["reason"]
        assert "x-inference-dna" not in headers
        assert (headers["x-route-attempts"], headers["x-model-version"]) == ("1", "v1.0.0")
        assert (again, more["retry-after"].isdigit()) == (503, True)
        assert len(worker.seen) == 1


def test_retries_0_never_sends_a_request_twice(tmp_path: Path) -> None:
    with workers(StubWorker(seed="a"), StubWorker(seed="a")) as (one, two):
        write_documents(tmp_path, contract_for(one, two, retries=0))
        with running(tmp_path, probe_interval=30) as gateway:
            gateway.wait_verified(2)
            one.seed = "drifted"
            outcomes = asyncio.run(fetch_all(gateway.port, [ASK] * 60, at_once=1))

        counted = kinds(outcomes)
        assert counted["502 dna_mismatch"] == 1
        assert counted["200 a"] == 59
        assert len(one.seen) + len(two.seen) == 60


def test_all_instances_mismatch_503_with_a_reason_each_and_never_another_version(tmp_path: Path) -> None:
    made = [StubWorker(seed="a"), StubWorker(seed="a"), StubWorker(version="v0.9.0", seed="old")]
    with workers(*made) as (one, two, old):
        write_documents(tmp_path, contract_for(one, two), contract_for(old))
        with running(tmp_path, probe_interval=0.3) as gateway:
            gateway.wait_verified(3)
            one.seed = two.seed = "drifted"
            gateway.wait_for(
                lambda: sum(i["identity"] == "ejected" for i in gateway.status()["instances"]) == 2, what="both ejected"
            )
            before = len(old.seen)
            outcomes = asyncio.run(fetch_all(gateway.port, [ASK] * 50))

        assert {o.status for o in outcomes} == {503}
        problem = outcomes[0].json
        assert problem["code"] == "no_verified_instance"
        assert {entry["instance"] for entry in problem["rejected"]} == {f"127.0.0.1:{w.port}" for w in (one, two)}
        assert all("ejected" in entry["reason"] for entry in problem["rejected"])
        assert len(old.seen) == before


def test_a_new_instance_gets_nothing_until_it_is_verified(tmp_path: Path) -> None:
    with workers(StubWorker(seed="a"), StubWorker(seed="a", status="loading")) as (ready, loading):
        write_documents(tmp_path, contract_for(ready, loading))
        with running(tmp_path, probe_interval=0.3) as gateway:
            gateway.wait_verified(1)
            asyncio.run(fetch_all(gateway.port, [ASK] * 100))
            nothing = len(loading.seen)
            loading.status = "ok"
            gateway.wait_verified(2)
            asyncio.run(fetch_all(gateway.port, [ASK] * 100))

        assert nothing == 0
        assert len(loading.seen) > 10


def test_slow_and_dead_probes_alone_eject_nobody(tmp_path: Path) -> None:
    async def silent(turn: Turn) -> None:
        await turn.client_gone()

    with workers(StubWorker(seed="a")) as (worker,):
        write_documents(tmp_path, contract_for(worker))
        with running(tmp_path, probe_interval=0.2) as gateway:
            gateway.wait_verified(1)
            worker.healthz = silent
            gateway.wait_for(
                lambda: gateway.status()["instances"][0]["liveness"] == "down", what="liveness down", timeout_s=20
            )
            identity = gateway.status()["instances"][0]["identity"]

        assert identity == "verified"


def test_suspect_by_label_is_out_at_once_and_ejected_after_three_strikes(tmp_path: Path) -> None:
    with workers(StubWorker(seed="a", send_digest=False)) as (worker,):
        dna = worker.digests.dna()
        near = ("0" if dna[0] != "0" else "1") + dna[1:]
        write_documents(tmp_path, contract_for(worker, dna=[{"dna": near}]))
        with running(tmp_path, probe_interval=0.2) as gateway:
            gateway.wait_for(lambda: gateway.status()["instances"][0]["identity"] == "suspect", what="suspicion")
            refused = http(gateway.url + "/g", method="POST", body=b"{}")[0]
            gateway.wait_for(
                lambda: gateway.status()["instances"][0]["identity"] == "ejected", what="three strikes", timeout_s=10
            )

        assert refused == 503
        assert worker.seen == []


def test_observe_mode_reports_and_lets_through(tmp_path: Path) -> None:
    with workers(StubWorker(seed="a")) as (worker,):
        write_documents(tmp_path, contract_for(worker, enforcement="observe", dna=[]))
        with running(tmp_path, probe_interval=0.3) as gateway:
            gateway.wait_for(lambda: http(gateway.url + "/g", method="POST", body=b"{}")[0] == 200, what="an answer")
            status = gateway.status()

        assert "observe" in json.dumps(status)


def test_a_500_of_another_identity_is_not_passed_on(tmp_path: Path) -> None:
    async def broken(turn: Turn) -> None:
        body = b'{"secret": "of the wrong version"}'
        await turn.write(turn.worker.head(500, "application/json", framing=f"Content-Length: {len(body)}") + body)

    with workers(StubWorker(seed="a")) as (worker,):
        write_documents(tmp_path, contract_for(worker))
        with running(tmp_path, probe_interval=30) as gateway:
            gateway.wait_verified(1)
            worker.handler = broken
            own = http(gateway.url + "/g", method="POST", body=b"{}")
            worker.seed = "drifted"
            other = http(gateway.url + "/g", method="POST", body=b"{}")
            identity = gateway.status()["instances"][0]["identity"]

        assert own[0] == 500
        assert b"wrong version" in own[2]
        assert other[0] == 502
        assert b"wrong version" not in other[2]
        assert identity == "verified"
