"""Verdicts shared between real gateways through a real Consul: who probes, who hears, what happens without Consul."""

from __future__ import annotations

import functools
import itertools
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import pytest

from tests.support.consul import ConsulAgent
from tests.support.gateway_process import GatewayProcess, http, write_documents
from tests.support.stub_worker import StubWorker, Turn, answer_json, contract_for, workers

NAMES = ("a", "b", "c")
PROBERS = 1
WORKERS = 12
INTERVAL_S = 0.5
WINDOW_S = 3.0
EVERYWHERE_S = 2.0
TAKEN_OVER_S = 10.0


class Site:
    """Gateways that share verdicts, one folder of documents, workers, and a Consul."""

    def __init__(self, folder: Path, consul: ConsulAgent, stubs: Sequence[StubWorker], stack: ExitStack) -> None:
        self.folder = folder
        self.consul = consul
        self.stubs = stubs
        self.gateways: dict[str, GatewayProcess] = {}
        self._stack = stack

    def start(self, *names: str) -> None:
        for name in names:
            gateway = GatewayProcess(
                self.folder,
                probe_interval=INTERVAL_S,
                id=name,
                share_verdicts=f"consul://{self.consul.address}/inference",
                share_probers=PROBERS,
                drain_accept=0,
            )
            self.gateways[name] = self._stack.enter_context(gateway)

    def sharing(self, name: str) -> dict[str, Any]:
        state = self.gateways[name].status()["sharing"]
        assert isinstance(state, dict)
        return state

    def identities(self, name: str) -> dict[str, str]:
        """Identity and reason by the worker's URL, as one gateway holds them."""
        listed = self.gateways[name].status()["instances"]
        return {one["url"]: f"{one['identity']}: {one['identity_reason']}" for one in listed}

    def wait_shared(self, *names: str) -> None:
        """Wait until these, and nobody else, share all instances among them."""
        wait(lambda: all(len(self.sharing(name)["members"]) == len(names) for name in names), "members", 20)
        wait(lambda: sum(self.sharing(name)["probed"] for name in names) == WORKERS, "shares", 5)

    def is_out(self, name: str, stub: StubWorker) -> bool:
        return self.identities(name)[stub.url].startswith("ejected")

    def is_verified(self, name: str, stub: StubWorker) -> bool:
        return self.identities(name).get(stub.url, "").startswith("verified")

    def explained(self, name: str) -> object:
        return self.gateways[name].admin("/explain?version=v1.0.0")[1]

    def events(self, name: str, event: str, about: StubWorker | None = None) -> list[dict[str, Any]]:
        """Log lines of one gateway, of one kind, about one worker."""
        instance = about.url.removeprefix("http://") if about else None
        records = self.gateways[name].records()
        return [one for one in records if one.get("event") == event and instance in {None, one.get("instance")}]

    def wait_verified(self, *names: str) -> None:
        for name in names:
            self.gateways[name].wait_verified(WORKERS)

    def probes_in(self, seconds: float) -> list[int]:
        """How often each worker is probed in so many seconds."""
        before = [stub.probes for stub in self.stubs]
        time.sleep(seconds)
        return [stub.probes - was for stub, was in zip(self.stubs, before, strict=True)]

    def assert_probers(self, count: int) -> None:
        """See that so many gateways probe each worker, in one of four windows: a busy machine may fall behind."""
        usual = count * WINDOW_S / INTERVAL_S
        seen = list[list[int]]()
        while len(seen) < 4:
            seen.append(self.probes_in(WINDOW_S))
            if all(0.5 * usual <= probes <= 1.5 * usual for probes in seen[-1]):
                return
        pytest.fail(f"each worker has {usual:.0f} probes in {WINDOW_S} s by {count}, but: {seen}")


def wait(condition: Callable[[], bool], what: str, timeout_s: float) -> float:
    """Ask until it holds; gives how long that took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < timeout_s, f"waited {timeout_s} s in vain for {what}"
        time.sleep(0.02)
    return time.monotonic() - began


class Traffic:
    """Requests to these gateways, one after another, until the block ends: `with Traffic(site, "a") as traffic:`."""

    def __init__(self, site: Site, *names: str) -> None:
        self.answered = 0
        self.bad: list[str] = []
        self._urls = [f"{site.gateways[name].url}/v1.0.0/generate" for name in names]
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._send)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _send(self) -> None:
        for url in itertools.cycle(self._urls):
            if self._stopped.wait(0.005):
                return
            status, _, body = http(url, method="POST", body=b"{}")
            self.answered += 1
            if status != 200 or json.loads(body)["seed"] != "a":
                self.bad.append(f"{url}: {status} {body[:200]!r}")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, consul: ConsulAgent) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("documents")
    with workers(*(StubWorker(name=str(number)) for number in range(WORKERS))) as stubs, ExitStack() as stack:
        write_documents(folder, contract_for(*stubs))
        made = Site(folder, consul, stubs, stack)
        made.start(*NAMES)
        yield made


@pytest.fixture
def site(running: Site) -> Site:
    """Three gateways that share, all instances well."""
    running.wait_shared(*NAMES)
    running.wait_verified(*NAMES)
    return running


def test_each_instance_is_probed_by_so_many_and_verified_everywhere(site: Site) -> None:
    site.assert_probers(PROBERS)


def test_a_new_instance_is_admitted_on_the_word_of_its_probers(site: Site) -> None:
    with StubWorker(name="new") as new:
        write_documents(site.folder, contract_for(*site.stubs, new))
        for name in NAMES:
            wait(functools.partial(site.is_verified, name, new), "the new one", 2.5)
        probed = new.probes
        write_documents(site.folder, contract_for(*site.stubs))
        site.wait_shared(*NAMES)

    assert probed <= 2.5 / INTERVAL_S + 1
    sources = [record["source"] for name in NAMES for record in site.events(name, "instance_verified", new)]
    assert sorted(sources) == ["gateway"] * (len(NAMES) - PROBERS) + ["probe"] * PROBERS


def test_what_one_gateway_ejects_is_ejected_everywhere(site: Site) -> None:
    drifted = site.stubs[3]
    drifted.seed = "b"
    took = wait(lambda: any(site.is_out(name, drifted) for name in NAMES), "the first ejection", 2 * INTERVAL_S + 1)
    took = wait(lambda: all(site.is_out(name, drifted) for name in NAMES), "the other ejections", EVERYWHERE_S)

    reasons = sorted(site.identities(name)[drifted.url] for name in NAMES)
    seer = next(name for name in NAMES if site.identities(name)[drifted.url] == reasons[0])
    assert reasons == ["ejected: digest differs"] + 2 * [f"ejected: digest differs, seen by gateway {seer}"]
    other = next(name for name in NAMES if name != seer)
    assert f"ejected: digest differs, seen by gateway {seer}" in str(site.explained(other))
    wait(lambda: bool(site.events(other, "instance_ejected", drifted)), "its line in the log", 2)  # written by a thread
    assert site.events(other, "instance_ejected", drifted)[-1]["source"] == "gateway"
    assert took < EVERYWHERE_S

    drifted.seed = "a"
    site.wait_verified(*NAMES)  # its own match takes the doubt back, and so everybody's


def test_an_answer_that_differs_is_told_by_whoever_relayed_it(site: Site) -> None:
    liar = site.stubs[5]
    liar.handler = lies
    with Traffic(site, "a") as traffic:
        wait(lambda: all(site.events(name, "instance_ejected", liar) for name in NAMES), "the ejections", 5)
    liar.handler = answer_json

    told = {name: site.events(name, "instance_ejected", liar)[0] for name in NAMES}
    assert {name: (one["source"], one["reason"]) for name, one in told.items()} == {
        "a": ("response", "digest differs"),
        "b": ("gateway", "digest differs, seen by gateway a"),
        "c": ("gateway", "digest differs, seen by gateway a"),
    }
    assert (traffic.bad, traffic.answered > 0) == ([], True)
    site.wait_verified(*NAMES)


@pytest.mark.slow
def test_the_share_of_a_gateway_that_is_killed_is_taken_over(site: Site) -> None:
    site.start("d")
    site.wait_shared(*NAMES, "d")
    victim = site.gateways["d"]
    with Traffic(site, *NAMES) as traffic:
        os.kill(victim.pid, signal.SIGKILL)
        took = wait(lambda: all(len(site.sharing(name)["members"]) == 3 for name in NAMES), "the rest", TAKEN_OVER_S)
        site.wait_shared(*NAMES)
        counts = site.probes_in(TAKEN_OVER_S - took)

    assert min(counts) >= 1
    assert traffic.bad == []


def test_a_gateway_that_leaves_is_gone_at_once(site: Site) -> None:
    site.start("e")
    site.wait_shared(*NAMES, "e")
    site.gateways["e"].stop()

    wait(lambda: all(len(site.sharing(name)["members"]) == 3 for name in NAMES), "the one that left", 3)


@pytest.mark.slow
def test_without_consul_every_gateway_probes_everything(site: Site) -> None:
    drifted = site.stubs[7]
    with Traffic(site, *NAMES) as traffic:
        site.consul.stop()
        wait(lambda: all(site.sharing(name)["members"] == [] for name in NAMES), "being alone", 5)
        site.assert_probers(len(NAMES))
        drifted.seed = "b"
        wait(lambda: all(site.is_out(name, drifted) for name in NAMES), "ejections without Consul", EVERYWHERE_S)
        drifted.seed = "a"
        site.consul.start()
        site.wait_shared(*NAMES)
        site.assert_probers(PROBERS)
        site.wait_verified(*NAMES)

    assert traffic.bad == []
    wait(lambda: bool(site.events("a", "sharing_alone")), "its line in the log", 2)
    assert "cannot be reached" in str(site.events("a", "sharing_alone")[-1]["reason"])


async def lies(turn: Turn) -> None:
    """Answer as another runtime than the one that probes see."""
    turn.worker.seed = "b"
    await answer_json(turn)
    turn.worker.seed = "a"
