"""From a real Consul to the snapshot, on real time: edits, faults, removals, and everything Consul hides or loses."""

from __future__ import annotations

import asyncio
import functools
import itertools
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.control.documents import DocumentState
from gateway.sources.consul.address import parse_address
from gateway.sources.consul.client import ConsulClient
from gateway.sources.consul.source import ConsulSettings, ConsulSource
from gateway.telemetry.changes import ChangeKind as Kind
from tests.support.consul import ConsulAgent, running_cluster, running_consul
from tests.support.control import MODEL, contract, route
from tests.support.watched_consul import WatchedConsul

URL = "http://10.0.0.1:8000"
WITHIN_S = 1.0
"""An edit is in force on every gateway within so long."""

_numbers = itertools.count()


@pytest.fixture
def prefix() -> str:
    """A prefix of the test's own: one Consul serves them all."""
    return f"t{next(_numbers)}"


@asynccontextmanager
async def watching(agent: ConsulAgent, prefix: str, options: str = "", **given: Any) -> AsyncIterator[WatchedConsul]:
    async with WatchedConsul(f"consul://{agent.address}/{prefix}{options}", **given).running() as watched:
        yield watched


def put_contract(agent: ConsulAgent, prefix: str, version: str = "v1.0.0", **fields: Any) -> None:
    agent.put(f"{prefix}/contracts/{MODEL}/{version}", contract(version, URL, **fields))


def put_three(agent: ConsulAgent, prefix: str) -> None:
    for minor in range(3):
        put_contract(agent, prefix, f"v1.{minor}.0", strikes=4)
    agent.put(f"{prefix}/routes/{MODEL}", route(default="v1.0.0"))


def test_an_edit_by_a_plain_put_is_in_force_within_a_second(consul: ConsulAgent, prefix: str) -> None:
    put_contract(consul, prefix, strikes=4)

    async def story() -> None:
        async with watching(consul, prefix) as watched:
            await watched.until_strikes(4)
            took = []
            for strikes in range(5, 10):
                put_contract(consul, prefix, strikes=strikes)
                took.append(await watched.until_strikes(strikes))
            assert max(took) < WITHIN_S + 0.5  # as many edits as these in a row are paced to one a second
            await asyncio.sleep(2)
            put_contract(consul, prefix, strikes=11)
            assert await watched.until_strikes(11) < WITHIN_S
            put_contract(consul, prefix, "v1.1.0", strikes=5)
            assert await watched.until_strikes(5, "v1.1.0") < WITHIN_S

    asyncio.run(story())


def test_w24_gateways_that_start_at_once_do_not_read_at_once(consul: ConsulAgent, prefix: str) -> None:
    put_contract(consul, prefix, strikes=4)

    async def first_read_after(draw: float) -> float:
        client = ConsulClient(parse_address(f"consul://{consul.address}/{prefix}", {}))
        settings = ConsulSettings(jitter_s=1.0)
        source = ConsulSource(
            client, now=time.monotonic, draw=lambda: draw, on_oddity=lambda odd: None, settings=settings
        )
        began = time.monotonic()
        task = asyncio.ensure_future(source.run())
        try:
            assert (await source.read()).documents.keys() == {f"contracts/{MODEL}/v1.0.0"}
            return time.monotonic() - began
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await client.close()

    async def story() -> list[float]:
        return await asyncio.gather(*(first_read_after(draw) for draw in (0.0, 0.5, 1.0)))

    first, second, third = asyncio.run(story())
    assert first < 0.5 <= second
    assert third >= 1.0


def test_a_broken_edit_costs_itself_only_and_says_why(consul: ConsulAgent, prefix: str) -> None:
    put_three(consul, prefix)
    broken: dict[Any, str] = {
        "{": "JSON",
        contract("v1.0.0", URL, strikes=-1): "strikes",
        contract("v9.9.9", URL): "v9.9.9",
        b"\x00\xff\xfe": "UTF-8",
        "": "empty",
        '{"model_id": "m", "model_id": "m"}': "twice",
        '{"model_id": "m", "x": NaN}': "NaN",
    }

    async def story() -> None:
        async with watching(consul, prefix) as watched:
            await watched.until_strikes(4)
            for strikes, (text, word) in enumerate(broken.items(), start=20):
                consul.put(f"{prefix}/contracts/{MODEL}/v1.0.0", text)
                put_contract(consul, prefix, "v1.1.0", strikes=strikes)
                await watched.until_strikes(strikes, "v1.1.0")  # all others go on
                assert watched.strikes() == 4
                await watched.until(lambda: watched.state(f"contracts/{MODEL}/v1.0.0") is DocumentState.REJECTED)
                assert word.lower() in watched.fault(f"contracts/{MODEL}/v1.0.0").lower(), text
            put_contract(consul, prefix, strikes=9)
            await watched.until_strikes(9)

    asyncio.run(story())


def test_keys_that_are_no_documents_are_passed_over_or_shown(consul: ConsulAgent, prefix: str) -> None:
    put_contract(consul, prefix, strikes=4)
    consul.put(f"{prefix}/contracts/", "")
    consul.put(f"{prefix}/contracts/{MODEL}/", "")
    consul.put(f"{prefix}/contracts/{MODEL}/notes", "hello")
    consul.put(f"{prefix}/elsewhere/x", "hello")
    consul.put(f"{prefix}/contracts/{MODEL}/1.1.0", contract("v1.1.0", URL))
    consul.put(f"{prefix}/contracts/{MODEL}/v1.1.0", contract("v1.1.0", URL))
    consul.put(f"{prefix}/contracts/{MODEL}/v1.2.0", "x" * (512 * 1024))

    async def story() -> None:
        async with watching(consul, prefix) as watched:
            await watched.until_strikes(4)
            entries = watched.story.fleet.documents.entries
            assert set(entries) == {
                f"contracts/{MODEL}/v1.0.0",
                f"contracts/{MODEL}/v1.1.0",
                f"contracts/{MODEL}/v1.2.0",
                f"{prefix}/contracts/{MODEL}/notes",
            }
            assert "does not end in a version" in watched.fault(f"{prefix}/contracts/{MODEL}/notes")
            assert "more than one key" in watched.fault(f"contracts/{MODEL}/v1.1.0")
            assert watched.watcher.state.ok

    asyncio.run(story())


def test_a_deleted_key_is_gone_and_a_deleted_prefix_is_held(consul: ConsulAgent, prefix: str) -> None:
    put_three(consul, prefix)

    async def story() -> None:
        async with watching(consul, prefix) as watched:
            await watched.until_strikes(4, "v1.2.0")
            consul.delete(f"{prefix}/contracts/{MODEL}/v1.2.0")
            assert await watched.until_strikes(None, "v1.2.0") < WITHIN_S + 0.5
            consul.delete(f"{prefix}/", recurse=True)
            await watched.until(lambda: len(watched.story.fleet.documents.held) == 3)
            assert watched.strikes() == watched.strikes("v1.1.0") == 4
            assert Kind.REMOVALS_HELD in watched.story.kinds()
            assert len(await watched.watcher.prune()) == 3
            assert watched.strikes() is None

    asyncio.run(story())


def test_foreign_writes_wake_nobody(consul: ConsulAgent, prefix: str) -> None:
    put_contract(consul, prefix, strikes=4)  # no route: a prefix that does not exist is woken by every write

    async def story() -> None:
        async with watching(consul, prefix) as watched:
            await watched.until_strikes(4)
            generation, reads = watched.generation, watched.client.calls
            for number in range(200):
                await asyncio.to_thread(consul.put, f"foreign/{number % 10}", str(number))
                await asyncio.sleep(0.01)
            assert watched.generation == generation
            assert watched.client.calls - reads <= 12
            put_contract(consul, prefix, strikes=5)
            assert await watched.until_strikes(5) < WITHIN_S

    asyncio.run(story())


def test_a_restored_snapshot_is_followed_although_the_index_goes_back() -> None:
    with running_consul() as agent:
        put_three(agent, "inference")
        snapshot = agent.snapshot()
        for number in range(50):
            agent.put("foreign", str(number))

        async def story() -> None:
            async with watching(agent, "inference") as watched:
                await watched.until_strikes(4)
                put_contract(agent, "inference", strikes=5)
                await watched.until_strikes(5)
                agent.restore(snapshot)
                assert await watched.until_strikes(4) < 3
                assert watched.odd["index_back"] >= 1
                put_contract(agent, "inference", strikes=6)  # and the index that is waited for is the new one
                assert await watched.until_strikes(6) < WITHIN_S + 0.5

        asyncio.run(story())


@pytest.mark.parametrize("documents", [1, 4])
def test_an_agent_that_comes_back_empty_takes_nothing_away(documents: int) -> None:
    with running_consul() as agent:
        for number in range(40):
            agent.put("foreign", str(number))
        put_three(agent, "inference")
        if documents == 1:
            agent.delete("inference/routes/", recurse=True)
            agent.delete(f"inference/contracts/{MODEL}/v1.1.0")
            agent.delete(f"inference/contracts/{MODEL}/v1.2.0")

        async def story() -> None:
            async with watching(agent, "inference") as watched:
                await watched.until_strikes(4)
                generation = watched.generation
                agent.stop()
                await watched.until(lambda: "cannot be reached" in watched.problems or "broke" in watched.problems)
                assert not watched.watcher.state.ok
                assert watched.generation == generation
                agent.start()
                await watched.until(lambda: watched.state(f"contracts/{MODEL}/v1.0.0") is DocumentState.MISSING)
                assert watched.strikes() == 4
                assert watched.generation == generation
                put_contract(agent, "inference", strikes=6)
                await watched.until_strikes(6)

        asyncio.run(story())


def test_an_edit_while_the_leader_is_frozen_is_in_force_as_soon_as_it_can_be_written() -> None:
    with running_cluster() as cluster:
        leader, asked = cluster.leader(), cluster.followers()[0]
        put_three(asked, "inference")

        async def story() -> None:
            async with watching(asked, "inference") as watched:
                await watched.until_strikes(4)
                leader.pause()
                edited = contract("v1.0.0", URL, strikes=5)
                write = functools.partial(asked.put, f"inference/contracts/{MODEL}/v1.0.0", edited)
                await asyncio.to_thread(asked.until, write, what="find another leader")
                assert await watched.until_strikes(5) < WITHIN_S
                assert watched.watcher.state.ok

        asyncio.run(story())


def test_rights_that_shrink_take_nothing_away_and_are_named(guarded: ConsulAgent, prefix: str, tmp_path: Path) -> None:
    all_of_it = f'key_prefix "{prefix}/" {{ policy = "read" }}'
    a_part = f'key_prefix "{prefix}/contracts/{MODEL}/v1.0" {{ policy = "read" }}'
    policy = guarded.new_policy(prefix, all_of_it)
    accessor, secret = guarded.new_token(prefix)
    file = tmp_path / "token"
    file.write_text(secret)
    put_three(guarded, prefix)

    async def story() -> None:
        async with watching(guarded, prefix, f"?token_file={file}") as watched:
            await watched.until_strikes(4, "v1.2.0")
            # narrowed to a part: a shorter list, and no word about it
            guarded.change_policy(policy, prefix, a_part)
            put_contract(guarded, prefix, strikes=5)
            await watched.until_strikes(5)
            await watched.until(lambda: "may not" in watched.problems)
            assert watched.strikes("v1.1.0") == watched.strikes("v1.2.0") == 4
            assert watched.odd["acl"] >= 1
            guarded.change_policy(policy, prefix, all_of_it)
            assert await watched.until_good() < 8
            # revoked, then a new token in the same file
            guarded.revoke(accessor)
            put_contract(guarded, prefix, strikes=6)
            await watched.until(lambda: "does not know the token" in watched.problems)
            assert watched.strikes() == 5
            file.write_text(guarded.new_token(prefix)[1])
            await watched.until_strikes(6)
            await watched.until_good()
            for shown in (watched.problems, repr(watched.watcher.state), repr(watched.story.told)):
                assert secret not in shown

    asyncio.run(story())


def test_a_token_that_sees_nothing_at_all_is_not_an_empty_configuration(
    guarded: ConsulAgent, prefix: str, tmp_path: Path
) -> None:
    policy = guarded.new_policy(prefix, f'key_prefix "{prefix}/" {{ policy = "read" }}')
    file = tmp_path / "token"
    file.write_text(guarded.new_token(prefix)[1])
    put_three(guarded, prefix)

    async def story() -> None:
        async with watching(guarded, prefix, f"?token_file={file}") as watched:
            await watched.until_strikes(4)
            guarded.change_policy(policy, prefix, 'key_prefix "elsewhere/" { policy = "read" }')
            put_contract(guarded, prefix, strikes=5)  # wakes the waiting read, which now answers 404
            await watched.until(lambda: "may not" in watched.problems)
            assert watched.strikes() == 4
            assert not watched.watcher.state.ok
            assert not watched.story.fleet.documents.held

    asyncio.run(story())


def test_a_start_without_any_right_is_no_good_reading_of_nothing(
    guarded: ConsulAgent, prefix: str, tmp_path: Path
) -> None:
    policy = guarded.new_policy(prefix, 'key_prefix "elsewhere/" { policy = "read" }')
    file = tmp_path / "token"
    file.write_text(guarded.new_token(prefix)[1])
    put_three(guarded, prefix)

    async def story() -> None:
        async with watching(guarded, prefix, f"?token_file={file}") as watched:
            await watched.until(lambda: "may not" in watched.problems)
            assert not watched.watcher.state.has_documents
            guarded.change_policy(policy, prefix, f'key_prefix "{prefix}/" {{ policy = "read" }}')
            await watched.until_strikes(4)
            assert watched.watcher.state.has_documents

    asyncio.run(story())


def test_the_copy_stands_behind_a_cold_start_document_by_document(prefix: str, tmp_path: Path) -> None:
    with running_consul() as agent:
        put_three(agent, prefix)
        copy = tmp_path / "copy.json"

        async def first() -> None:
            async with watching(agent, prefix, copy=copy) as watched:
                await watched.until_strikes(4, "v1.2.0")
                agent.put(f"{prefix}/contracts/{MODEL}/v1.1.0", "{")
                await watched.until(lambda: watched.state(f"contracts/{MODEL}/v1.1.0") is DocumentState.REJECTED)

        async def second() -> None:
            agent.delete(f"{prefix}/contracts/{MODEL}/v1.2.0")
            put_contract(agent, prefix, strikes=5)
            async with watching(agent, prefix, copy=copy) as watched:
                await watched.until_strikes(5)  # what changed meanwhile
                assert watched.strikes("v1.1.0") == 4  # what is broken has its last good state
                await watched.until_strikes(None, "v1.2.0")  # what was removed meanwhile is gone
                await watched.until(lambda: "v1.2.0" not in copy.read_text())
                assert watched.watcher.state.kept_at is None

        async def third() -> None:
            agent.stop()
            async with watching(agent, prefix, copy=copy) as watched:
                await watched.until(lambda: watched.watcher.state.kept_at is not None)
                assert (watched.strikes(), watched.strikes("v1.1.0")) == (5, 4)
                assert watched.watcher.state.last_good_at is None
                assert "cannot be reached" in watched.problems

        async def fourth() -> None:
            agent.start()
            put_three(agent, prefix)
            async with watching(agent, prefix, copy=tmp_path / "copy.json" / "no" / "folder") as watched:
                await watched.until_strikes(4)
                await watched.until(lambda: watched.copy_problems)
                assert "GATEWAY_KEPT_FOLDER" in str(watched.copy_problems)

        for story in (first, second, third, fourth):
            asyncio.run(story())


def test_more_than_is_read_at_once_is_refused_whole(consul: ConsulAgent, prefix: str) -> None:
    put_contract(consul, prefix, strikes=4)

    async def story() -> None:
        async with watching(consul, prefix, max_bytes=20_000) as watched:
            await watched.until_strikes(4)
            consul.put(f"{prefix}/contracts/{MODEL}/v2.0.0", "x" * 30_000)
            put_contract(consul, prefix, strikes=5)
            await watched.until(lambda: "more than" in watched.problems)
            assert watched.strikes() == 4
            consul.delete(f"{prefix}/contracts/{MODEL}/v2.0.0")
            await watched.until_strikes(5)

    asyncio.run(story())


def test_ten_thousand_contracts_and_one_edit_among_them(consul: ConsulAgent, prefix: str) -> None:
    text = {"version": "v1.0.0", "service": "many"}
    documents = {
        f"{prefix}/contracts/m{number}/v1.0.0": json.dumps({**text, "model_id": f"m{number}"})
        for number in range(10_000)
    }
    consul.put_all(documents)

    async def story() -> None:
        async with watching(consul, prefix) as watched:
            await watched.until(lambda: len(watched.story.fleet.documents.contracts) == 10_000, timeout_s=60)
            await watched.until_good()  # said once all that follows from so many is done, too
            await asyncio.sleep(1)
            generation = watched.generation
            consul.put(f"{prefix}/contracts/m77/v1.0.0", json.dumps({**text, "model_id": "m77", "strikes": 7}))
            await watched.until(lambda: watched.generation > generation)
            assert watched.generation == generation + 1

    asyncio.run(story())


@pytest.fixture
def frozen(consul: ConsulAgent) -> Iterator[Callable[[], None]]:
    """Freezes the agent; thaws it whatever comes."""
    yield consul.pause
    consul.resume()


def test_a_server_that_hangs_is_left_after_the_time_a_read_may_take(
    consul: ConsulAgent, prefix: str, frozen: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    put_contract(consul, prefix, strikes=4)

    async def story() -> None:
        monkeypatch.setattr("gateway.sources.consul.client.GRACE_S", 0.5)
        async with watching(consul, prefix, wait_s=1) as watched:
            await watched.until_strikes(4)
            frozen()
            await watched.until(lambda: "did not answer in time" in watched.problems)
            assert watched.strikes() == 4
            consul.resume()
            put_contract(consul, prefix, strikes=5)
            await watched.until_strikes(5)
            assert watched.watcher.state.ok

    asyncio.run(story())
