"""Probes over real sockets: every way a worker can answer, and a prober that survives all of them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from gateway.control.fleet import Fleet
from gateway.control.probe_client import Answer, ProbeClient
from gateway.control.prober import Prober
from gateway.control.resolver import Resolver
from gateway.control.schedule import ProbeSchedule
from gateway.control.standing import InstanceKey, Tracked
from gateway.health.identity import Identity
from gateway.health.liveness import Liveness, ProbeOutcome
from gateway.telemetry.metrics import Metrics
from inference_dna.observation import NO_ANSWER
from tests.support.control import documents_of
from tests.support.stub_worker import StubWorker, Turn, contract_for


def ask(url: str, *, timeout_s: float = 0.3, max_bytes: int = 4096) -> Answer:
    async def once() -> Answer:
        return await ProbeClient(timeout_s=timeout_s, max_bytes=max_bytes).probe(url + "/healthz")

    return asyncio.run(once())


@contextlib.contextmanager
def free_port() -> Iterator[int]:
    """A port where nothing listens; it stays ours, so that nobody else takes it."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


# one probe ------------------------------------------------------------------------------------------------------------


def test_a_good_worker_tells_everything() -> None:
    hardware = {"accelerators": [{"name": "NVIDIA A100", "count": 1}]}
    with StubWorker(hardware=hardware) as worker:
        answer = ask(worker.url)

    assert (answer.outcome, answer.failure) == (ProbeOutcome.OK, None)
    seen = answer.observation
    assert (seen.http, seen.status, seen.dna) == (200, "ok", worker.digests.dna())
    assert seen.hardware == hardware
    assert seen.boot_id == worker.boot_id


def test_a_loading_worker_is_heard() -> None:
    with StubWorker(status="loading") as worker:
        answer = ask(worker.url)

    assert (answer.outcome, answer.failure) == (ProbeOutcome.FAILED, "status")
    assert (answer.observation.http, answer.observation.status) == (503, "loading")
    assert answer.detail == "answered with status 503"


def test_where_nothing_listens_the_probe_is_refused() -> None:
    with free_port() as port:
        answer = ask(f"http://127.0.0.1:{port}")

    assert (answer.outcome, answer.failure, answer.observation) == (ProbeOutcome.REFUSED, "refused", NO_ANSWER)


async def silent(turn: Turn) -> None:
    await turn.client_gone()


async def trickling_head(turn: Turn) -> None:
    await turn.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        await turn.write(b"x-a: b\r\n")
        await asyncio.sleep(0.05)


async def trickling_body(turn: Turn) -> None:
    await turn.write(turn.worker.head(200, "application/json", framing="Content-Length: 4000"))
    while True:
        await turn.write(b" ")
        await asyncio.sleep(0.05)


async def half_a_body(turn: Turn) -> None:
    await turn.write(turn.worker.head(200, "application/json", framing="Content-Length: 4000") + b"{")
    turn.close = True


async def reset(turn: Turn) -> None:
    turn.reset()


async def hung_up(turn: Turn) -> None:
    turn.close = True


async def no_http(turn: Turn) -> None:
    await turn.write(b"SSH-2.0-OpenSSH_9.9\r\n")
    turn.close = True


async def endless_body(turn: Turn) -> None:
    await turn.write(turn.worker.head(200, "application/json", framing="Connection: close"))
    while True:
        await turn.write(b"x" * 1000)


@pytest.mark.parametrize(
    ("healthz", "failure", "says"),
    [
        pytest.param(silent, "timeout", "read timeout", id="silent"),
        pytest.param(trickling_head, "timeout", "too long as a whole", id="trickling-head"),
        pytest.param(trickling_body, "timeout", "too long as a whole", id="trickling-body"),
        pytest.param(half_a_body, "malformed", "remote protocol error", id="half-a-body"),
        pytest.param(reset, "malformed", "connection reset", id="reset"),
        pytest.param(hung_up, "malformed", "remote protocol error", id="hung-up"),
        pytest.param(no_http, "malformed", "remote protocol error", id="no-http"),
        pytest.param(endless_body, "malformed", "longer than 4096 bytes", id="endless-body"),
    ],
)
def test_no_usable_answer_says_nothing_of_identity(healthz: Any, failure: str, says: str) -> None:
    with StubWorker(healthz=healthz) as worker:
        began = time.monotonic()
        answer = ask(worker.url)
        took = time.monotonic() - began

    assert (answer.outcome, answer.failure) == (ProbeOutcome.FAILED, failure)
    assert answer.observation is NO_ANSWER
    assert says in answer.detail
    assert took < 2.0


async def interim_and_no_length(turn: Turn) -> None:
    await turn.write(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
    body = json.dumps({"status": "ok", "boot_id": "b" * 32}).encode()
    await turn.write(turn.worker.head(200, "application/json", framing="Connection: close") + body[:9])
    await turn.write(body[9:])
    turn.close = True


def test_an_interim_answer_is_passed_over_and_a_body_may_end_with_the_connection() -> None:
    with StubWorker(healthz=interim_and_no_length) as worker:
        answer = ask(worker.url)

    assert answer.outcome is ProbeOutcome.OK
    assert (answer.observation.status, answer.observation.boot_id) == ("ok", "b" * 32)
    assert answer.observation.dna == worker.digests.dna()


async def redirect(turn: Turn) -> None:
    await turn.write(turn.worker.head(302, "text/plain", framing="Location: http://127.0.0.1:1/\r\nContent-Length: 0"))


def test_a_redirect_is_not_followed() -> None:
    with StubWorker(healthz=redirect, stamped=False) as worker:
        answer = ask(worker.url)

    assert answer.failure == "status"
    assert answer.observation.http == 302


@pytest.mark.parametrize("url", ["http://no-such-host.invalid", "http://" + "a" * 70 + ".example"])
def test_a_name_that_does_not_resolve_fails_and_raises_nothing(url: str) -> None:
    assert ask(url, timeout_s=2.0).outcome is ProbeOutcome.FAILED


def test_each_probe_has_a_connection_of_its_own() -> None:
    async def three(url: str) -> None:
        client = ProbeClient()
        for _ in range(3):
            await client.probe(url + "/healthz")

    with StubWorker() as worker:
        asyncio.run(three(worker.url))

        assert (worker.connections, worker.probes) == (3, 3)


def test_proxies_of_the_environment_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")

    with StubWorker() as worker:
        assert ask(worker.url).outcome is ProbeOutcome.OK


def test_after_a_probe_was_cut_off_the_next_ones_are_well() -> None:
    async def story(slow: str, good: str) -> list[ProbeOutcome]:
        client = ProbeClient(timeout_s=0.1)
        answers = await asyncio.gather(*(client.probe(url + "/healthz") for url in [slow] * 5 + [good] * 5))
        answers += [await client.probe(good + "/healthz")]
        return [answer.outcome for answer in answers]

    with StubWorker(healthz=trickling_head) as slow, StubWorker() as good:
        outcomes = asyncio.run(story(slow.url, good.url))

    assert outcomes == [ProbeOutcome.FAILED] * 5 + [ProbeOutcome.OK] * 6


# the prober -----------------------------------------------------------------------------------------------------------


class Probing:
    """A fleet with a prober on real time; `until` waits for what the story needs."""

    def __init__(self, *, interval_s: float = 0.1, concurrency: int = 64, timeout_s: float = 0.3) -> None:
        loop = asyncio.get_running_loop()
        self.faults: list[Exception] = []
        self.schedule = ProbeSchedule(loop.time)
        self.metrics = Metrics(registry := CollectorRegistry(), build="test")
        self.registry = registry
        self.fleet = Fleet(
            now=loop.time,
            draw=lambda: 0.5,
            schedule=self.schedule,
            metrics=self.metrics,
            listener=lambda change: None,
            probe_interval_s=interval_s,
        )
        self.prober = Prober(
            fleet=self.fleet,
            schedule=self.schedule,
            resolver=Resolver(),
            client=ProbeClient(timeout_s=timeout_s),
            metrics=self.metrics,
            now=loop.time,
            on_fault=self.faults.append,
            concurrency=concurrency,
        )
        self._documents = documents_of()

    async def apply(self, *contracts: Mapping[str, Any]) -> None:
        self._documents = documents_of(*map(json.dumps, contracts), before=self._documents)
        await self.fleet.apply(self._documents)

    def one(self, worker: StubWorker) -> Tracked:
        return self.fleet.tracked[key_of(worker)]

    async def until(self, holds: Any, *, within_s: float = 5.0) -> None:
        async with asyncio.timeout(within_s):
            while not holds():  # noqa: ASYNC110 - the story looks from outside
                await asyncio.sleep(0.005)


def key_of(worker: StubWorker) -> InstanceKey:
    return (worker.model_id, worker.version, worker.url)


def play(story: Any) -> None:
    """Run a story beside its prober."""

    async def both() -> None:
        probing = Probing()
        async with asyncio.TaskGroup() as group:
            task = group.create_task(probing.prober.run())
            try:
                await story(probing)
            finally:
                task.cancel()
        assert not probing.faults

    asyncio.run(both())


def test_a_new_instance_is_verified_at_once_and_probed_on() -> None:
    with StubWorker() as worker:

        async def story(probing: Probing) -> None:
            await probing.apply(contract_for(worker))
            await probing.until(lambda: probing.one(worker).identity.identity is Identity.VERIFIED, within_s=1.0)
            await probing.until(lambda: worker.probes >= 4)

        play(story)


def test_v9_another_worker_on_the_same_port_is_found() -> None:
    with StubWorker() as worker:

        async def story(probing: Probing) -> None:
            await probing.apply(contract_for(worker))
            await probing.until(lambda: probing.one(worker).identity.identity is Identity.VERIFIED)
            worker.seed = "b"
            await probing.until(lambda: probing.one(worker).identity.identity is Identity.EJECTED)
            worker.seed = "a"
            await probing.until(lambda: probing.one(worker).identity.identity is Identity.VERIFIED)

        play(story)


def test_h2_workers_that_swallow_probes_hold_up_nobody() -> None:
    with StubWorker() as good, StubWorker(healthz=silent, version="v2.0.0") as hanging:

        async def story(probing: Probing) -> None:
            await probing.apply(contract_for(hanging), contract_for(good))
            await probing.until(lambda: probing.one(good).identity.identity is Identity.VERIFIED, within_s=1.0)
            await probing.until(lambda: probing.one(hanging).probe is not None)
            assert probing.one(hanging).identity.identity is Identity.UNVERIFIED
            assert probing.one(hanging).liveness.liveness is Liveness.DOWN
            await probing.until(lambda: good.probes >= 5)

        play(story)


def test_h3_a_removed_instance_gets_no_probe_any_more() -> None:
    with StubWorker() as stays, StubWorker(version="v2.0.0") as goes:

        async def story(probing: Probing) -> None:
            await probing.apply(contract_for(stays), contract_for(goes))
            await probing.until(lambda: goes.probes >= 2)
            await probing.apply(contract_for(stays))
            await asyncio.sleep(0.05)
            before = goes.probes
            count = stays.probes
            await probing.until(lambda: stays.probes >= count + 5)
            assert goes.probes == before
            assert len(probing.schedule) <= 1

        play(story)


def test_a_worker_that_dies_is_down_at_the_next_probe_and_comes_back() -> None:
    worker = StubWorker()
    with worker:

        async def story(probing: Probing) -> None:
            await probing.apply(contract_for(worker))
            await probing.until(lambda: probing.one(worker).liveness.liveness is Liveness.UP)
            await asyncio.to_thread(worker.stop)
            await probing.until(lambda: probing.one(worker).liveness.liveness is Liveness.DOWN)
            assert probing.one(worker).identity.identity is Identity.VERIFIED
            assert probing.one(worker).liveness.cause == "connection refused"
            assert probing.registry.get_sample_value("gateway_probe_failures_total", {"kind": "refused"})

        play(story)


def test_so_many_at_one_time_and_no_more() -> None:
    most = 0
    now = 0

    async def counted(turn: Turn) -> None:
        nonlocal most, now
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.02)
        now -= 1
        body = json.dumps(turn.worker.health_document()).encode()
        await turn.write(turn.worker.head(200, "application/json", framing=f"Content-Length: {len(body)}") + body)

    async def story(worker: StubWorker) -> None:
        probing = Probing(concurrency=4, timeout_s=2.0)
        urls = [f"{worker.url}/{number}" for number in range(40)]
        async with asyncio.TaskGroup() as group:
            task = group.create_task(probing.prober.run())
            await probing.apply(contract_for(worker, instances=urls, health_url="/healthz"))
            await probing.until(lambda: all(one.probe for one in probing.fleet.tracked.values()))
            task.cancel()

    with StubWorker(healthz=counted) as worker:
        asyncio.run(story(worker))

    assert 1 < most <= 4


def test_a_fault_of_ours_costs_one_probe() -> None:
    async def story(worker: StubWorker) -> None:
        probing = Probing()
        observe, stumbles = probing.fleet.observe_probe, iter([True])

        def stumbling(key: InstanceKey, probe: Any) -> None:
            if next(stumbles, False):
                raise RuntimeError("stumbled")
            observe(key, probe)

        probing.fleet.observe_probe = stumbling  # type: ignore[method-assign]
        async with asyncio.TaskGroup() as group:
            task = group.create_task(probing.prober.run())
            await probing.apply(contract_for(worker))
            await probing.until(lambda: probing.faults)
            probing.schedule.hasten(key_of(worker), 0.0)
            await probing.until(lambda: probing.one(worker).probe)
            task.cancel()

    with StubWorker() as worker:
        asyncio.run(story(worker))
