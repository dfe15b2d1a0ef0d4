"""Fifteen hundred idle connections, two hundred busy ones and a worker that hangs: only those who ask it notice."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.at_rest import standing, wait_at_rest
from tests.support.gateway_process import GatewayProcess, running, write_documents
from tests.support.kept import KeptConnection
from tests.support.load import Outcome
from tests.support.procfs import MIB, forget_peak, peak_rss, rss, soft_limit_of_descriptors
from tests.support.raw import request
from tests.support.stub_worker import StubWorker, Turn, contract_for, workers

IDLE = 1500
ACTIVE = {"v1.0.0": 120, "v2.0.0": 40, "v3.0.0": 40}
"""Connections that ask all the time, by version: two good workers; one that hangs; a good one beside one that hangs."""
BUSY_S = 7.0
PATIENCE_S = 2.0
"""What the contracts let a worker take for its first byte."""
GRAIN_S = 0.5
"""The gateway looks after its deadlines so often."""
LATE_S = 1.5
"""What a client, its gateway and its workers may lose to each other on the cores they share."""


@dataclass(frozen=True)
class Timed:
    """One request of a busy connection."""

    outcome: Outcome
    worker: str
    began_at: float
    took_s: float


@dataclass
class Seen:
    """What came of all connections."""

    timed: dict[str, list[Timed]] = field(default_factory=dict)
    idle_before: list[str] = field(default_factory=list)
    idle_after: list[str] = field(default_factory=list)
    rss: dict[str, int] = field(default_factory=dict)
    standing: dict[str, tuple[str, str]] = field(default_factory=dict)
    began_at: float = 0.0


async def echoes(turn: Turn) -> None:
    """Say who answers, and what was asked."""
    body = json.dumps({"worker": turn.worker.name, "token": (turn.seen.header("x-token") or b"").decode()}).encode()
    await asyncio.sleep(0.01)
    await turn.write(turn.worker.head(200, "application/json", framing=f"Content-Length: {len(body)}") + body)


async def hangs(turn: Turn) -> None:
    """Healthy to every probe, silent to every request."""
    await turn.client_gone()


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    folder: Path = tmp_path_factory.mktemp("documents")
    one, two = (StubWorker(version="v1.0.0", seed="1", name=name, handler=echoes) for name in ("one", "two"))
    silent = StubWorker(version="v2.0.0", seed="2", name="silent", handler=hangs)
    good, bad = (
        StubWorker(version="v3.0.0", seed="3", name=n, handler=h) for n, h in (("good", echoes), ("bad", hangs))
    )
    terms = {"timeouts": {"first_byte_s": PATIENCE_S}, "limits": {"max_in_flight": 500}}
    with soft_limit_of_descriptors(4 * IDLE), workers(one, two, silent, good, bad):
        versions = ((one, two), (silent,), (good, bad))
        write_documents(folder, *(contract_for(*made, **terms) for made in versions))
        with running(folder, probe_interval=1) as gateway:
            gateway.wait_verified(5)
            seen = Seen()
            asyncio.run(everybody(gateway, seen))
            yield seen


async def everybody(gateway: GatewayProcess, seen: Seen) -> None:
    """Open the idle ones, let the busy ones ask for a while, then ask on each idle one again."""
    pid = gateway.pid
    idle: list[KeptConnection] = []
    for number in range(IDLE):
        idle.append(await KeptConnection.open(gateway.port, source=f"127.0.2.{number % 5 + 1}"))
        if number == 99:
            # What a hundred connections cost once is no cost of a connection.
            seen.idle_before += await ask_once(idle)
            seen.rss["a hundred"] = rss(pid)
    seen.idle_before += await ask_once(idle[100:])
    seen.rss["idle"] = rss(pid)
    forget_peak(pid)
    stop = asyncio.Event()
    seen.began_at = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for version, number in ACTIVE.items():
            timed = seen.timed.setdefault(version, [])
            for each in range(number):
                group.create_task(asks_on(gateway.port, f"{version}-{each}", version, stop, timed))
        await asyncio.sleep(BUSY_S)
        stop.set()
    seen.rss["peak"] = peak_rss(pid)
    seen.idle_after = await ask_once(idle)
    await asyncio.to_thread(wait_at_rest, gateway)
    seen.standing = await asyncio.to_thread(standing, gateway)
    seen.rss["after"] = rss(pid)
    for connection in idle:
        connection.close()


async def ask_once(connections: list[KeptConnection]) -> list[str]:
    """Ask on each, many at a time; gives what was wrong with each answer that was wrong."""
    gate = asyncio.Semaphore(50)

    async def one(number: int, connection: KeptConnection) -> str:
        token = f"idle-{number}-{random.getrandbits(32):08x}"
        async with gate:
            outcome = await connection.ask(ask(token, "v1.0.0"))
        if outcome.status != 200 or outcome.json["token"] != token:
            return f"{number}: {outcome.error or outcome.status}"
        return ""

    return [wrong for wrong in await asyncio.gather(*map(one, range(len(connections)), connections)) if wrong]


async def asks_on(port: int, name: str, version: str, stop: asyncio.Event, timed: list[Timed]) -> None:
    """Ask over and over on one kept connection, with pauses; it must last."""
    dice = random.Random(name)
    connection = await KeptConnection.open(port)
    for number in range(100_000):
        await asyncio.sleep(dice.uniform(0.05, 0.3))
        if stop.is_set():
            break
        token = f"{name}-{number}"
        began_at = time.monotonic()
        outcome = await connection.ask(ask(token, version))
        worker = outcome.json.get("worker", "") if outcome.status == 200 else ""
        timed.append(Timed(outcome, worker, began_at, time.monotonic() - began_at))
        assert outcome.status != 200 or outcome.json["token"] == token
        assert outcome.response is not None, outcome.error
        assert outcome.response.header("connection") is None
    connection.close()


def ask(token: str, version: str) -> bytes:
    return request("POST", "/generate", f"X-Token: {token}", f"X-Model-Preference: {version}", body=b"{}")


# what was seen --------------------------------------------------------------------------------------------------------


def test_requests_to_other_versions_are_unaffected(seen: Seen) -> None:
    timed = seen.timed["v1.0.0"]

    assert {one.outcome.status for one in timed} == {200}
    assert {one.worker for one in timed} == {"one", "two"}
    assert len(timed) > ACTIVE["v1.0.0"] * BUSY_S
    assert max(one.took_s for one in timed) < LATE_S


def test_requests_to_the_one_that_hangs_end_at_the_limit_of_its_contract(seen: Seen) -> None:
    timed = seen.timed["v2.0.0"]

    assert len(timed) >= 2 * ACTIVE["v2.0.0"]
    for one in timed:
        assert (one.outcome.status, one.outcome.json["code"]) == (504, "upstream_timeout")
        assert [rejected["instance"] for rejected in one.outcome.json["rejected"]]
        assert PATIENCE_S <= one.took_s < PATIENCE_S + GRAIN_S + LATE_S


def test_beside_a_good_one_the_one_that_hangs_costs_few_requests_and_then_none(seen: Seen) -> None:
    timed = seen.timed["v3.0.0"]
    good = [one for one in timed if one.outcome.status == 200]
    lost = [one for one in timed if one.outcome.status != 200]
    learnt_at = seen.began_at + 2 * PATIENCE_S + GRAIN_S + LATE_S

    assert {one.worker for one in good} == {"good"}
    assert max(one.took_s for one in good) < LATE_S
    assert {one.outcome.status for one in lost} == {504}
    assert len(lost) < len(timed) / 10
    assert max((one.began_at for one in lost), default=0.0) < learnt_at


def test_who_hangs_is_no_matter_of_identity(seen: Seen) -> None:
    assert {identity for identity, _ in seen.standing.values()} == {"verified"}
    # The only instance of a version stays up whatever it does; one beside others goes down once enough was lost to it.
    assert sorted(liveness for _, liveness in seen.standing.values())[1:] == ["up"] * 4


def test_idle_connections_serve_before_and_after(seen: Seen) -> None:
    assert seen.idle_before == []
    assert seen.idle_after == []


def test_memory_is_bounded(seen: Seen) -> None:
    each = (seen.rss["idle"] - seen.rss["a hundred"]) / (IDLE - 100)

    assert each < 32 * 1024
    assert seen.rss["peak"] - seen.rss["idle"] < 32 * MIB
    assert seen.rss["after"] - seen.rss["idle"] < 32 * MIB


def test_a_low_soft_limit_of_descriptors_shuts_out_neither_clients_nor_probes(tmp_path: Path) -> None:
    """A login shell and many service managers let a process open 1,024 until it asks for more, which it may."""

    async def story() -> tuple[list[str], int]:
        made = [await KeptConnection.open(gateway.port, source=f"127.0.2.{number % 5 + 1}") for number in range(IDLE)]
        wrong = await ask_once(made)
        status = 0
        with contextlib.suppress(OSError):
            status = (await asyncio.to_thread(gateway.admin, "/readyz"))[0]
        for connection in made:
            connection.close()
        return wrong, status

    with contextlib.ExitStack() as stack:
        stack.enter_context(soft_limit_of_descriptors(4 * IDLE))
        worker = stack.enter_context(StubWorker(handler=echoes))
        write_documents(tmp_path, contract_for(worker, limits={"max_in_flight": 500}))
        with soft_limit_of_descriptors(1024):
            gateway = stack.enter_context(running(tmp_path, probe_interval=1))
        gateway.wait_verified(1)
        wrong, status = asyncio.run(story())

    assert (len(wrong), status) == (0, 200)
