"""Every call of the client against the real Consul."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Coroutine
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
import trustme

from gateway.sources.consul.address import parse_address
from gateway.sources.consul.client import ConsulClient, ensure_good
from gateway.sources.consul.failed import ConsulFailed, FailureKind
from gateway.sources.consul.replies import Consistency, Entry, Operation, entries_of
from tests.support.consul import HOST, ConsulAgent, Ports, running_consul

T = TypeVar("T")


def run(story: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(story)


@asynccontextmanager
async def client_of(agent: ConsulAgent, options: str = "", **limits: int) -> AsyncIterator[ConsulClient]:
    client = ConsulClient(parse_address(f"consul://{agent.address}/inference{options}", {}), **limits)
    try:
        yield client
    finally:
        await client.close()


def test_a_key_is_written_once_and_changed_only_where_nobody_was_faster(consul: ConsulAgent) -> None:
    async def story() -> None:
        async with client_of(consul) as client:
            assert await client.put("a/m+x/v1", b"one", cas=0)
            assert not await client.put("a/m+x/v1", b"again", cas=0)
            entry = await client.key("a/m+x/v1")
            assert entry is not None
            assert entry.value == b"one"
            assert await client.put("a/m+x/v1", b"two", cas=entry.modify_index)
            assert not await client.put("a/m+x/v1", b"three", cas=entry.modify_index)
            assert [(each.key, each.value) for each in await client.keys("a/")] == [("a/m+x/v1", b"two")]
            assert not await client.delete("a/m+x/v1", cas=entry.modify_index)
            assert await client.delete("a/m+x/v1")
            assert await client.key("a/m+x/v1") is None
            assert await client.keys("a/") == ()

    run(story())


def test_a_read_with_an_index_waits_for_the_next_change(consul: ConsulAgent) -> None:
    async def story() -> None:
        async with client_of(consul) as client:
            await client.put("b/1", b"one")
            first = await client.read("/v1/kv/b/", {"recurse": "1"})
            assert first.index is not None
            assert first.known_leader
            waiting = asyncio.ensure_future(client.read("/v1/kv/b/", {"recurse": "1"}, index=first.index))
            await asyncio.sleep(0.1)
            assert not waiting.done()
            await client.put("b/2", b"\x00\xff")
            second = await asyncio.wait_for(waiting, 5)
            assert second.index is not None
            assert second.index > first.index
            assert [entry.value for entry in entries_of(second)] == [b"one", b"\x00\xff"]
            stale = await client.read("/v1/kv/b/", {"recurse": "1"}, consistency=Consistency.STALE)
            assert entries_of(stale) == entries_of(second)

    run(story())


def test_a_transaction_does_all_or_nothing_and_says_what_stood_in_the_way(consul: ConsulAgent) -> None:
    async def story() -> None:
        async with client_of(consul) as client:
            done = await client.transact([Operation("set", "c/1", b"1"), Operation("check-not-exists", "c/2")])
            assert done.done
            refused = await client.transact([Operation("set", "c/3", b"3"), Operation("cas", "c/1", b"2", index=1)])
            assert not refused.done
            assert [position for position, _ in refused.refused] == [1]
            assert await client.key("c/3") is None

    run(story())


def test_a_key_held_by_a_session_goes_with_it(consul: ConsulAgent) -> None:
    async def story() -> None:
        async with client_of(consul) as client:
            mine = await client.create_session("test", ttl_s=10)
            other = await client.create_session("other", ttl_s=10)
            assert await client.acquire("d/1", b"held", session=mine)
            assert not await client.acquire("d/1", b"stolen", session=other)
            entry = await client.key("d/1")
            assert entry is not None
            assert entry.session == mine
            assert await client.renew_session(mine)
            await client.destroy_session(mine)
            assert not await client.renew_session(mine)
            assert await client.key("d/1") is None

    run(story())


def test_the_token_is_read_again_before_each_attempt_and_shows_nowhere(guarded: ConsulAgent, tmp_path: Path) -> None:
    guarded.new_policy("reader", 'key_prefix "inference/" { policy = "read" }')
    _, secret = guarded.new_token("reader")
    guarded.put("inference/contracts/m/v1", "{}")
    file = tmp_path / "token"
    wrong = "11111111-2222-3333-4444-555555555555"

    async def story() -> list[ConsulFailed]:
        failures = []
        async with client_of(guarded, f"?token_file={file}") as client:
            for text, kind in (
                (None, FailureKind.TOKEN),
                ("", FailureKind.TOKEN),
                ("two words", FailureKind.TOKEN),
                (wrong, FailureKind.DENIED),
            ):
                if text is not None:
                    file.write_text(text)
                with pytest.raises(ConsulFailed) as raised:
                    await client.key("inference/contracts/m/v1")
                assert raised.value.kind is kind
                failures.append(raised.value)
            file.write_text(f"{secret}\n")
            assert await client.key("inference/contracts/m/v1") is not None
            for refused in (
                client.put("inference/contracts/m/v1", b"{}"),
                client.transact([Operation("set", "inference/contracts/m/v1", b"{}")]),
                client.key("elsewhere"),
            ):
                with pytest.raises(ConsulFailed) as raised:
                    await refused
                assert raised.value.kind is FailureKind.DENIED
                failures.append(raised.value)
        return failures

    shown = "".join(f"{failure} {failure!r} {failure.__cause__!r}" for failure in run(story()))
    assert wrong not in shown
    assert secret not in shown


def test_what_lies_beyond_the_bound_is_not_read(consul: ConsulAgent) -> None:
    consul.put("e/1", b"x" * 200_000)

    async def story() -> None:
        async with client_of(consul, max_bytes=100_000) as client:
            with pytest.raises(ConsulFailed, match="more than 100000 bytes") as raised:
                await client.keys("e/")
            assert raised.value.kind is FailureKind.TOO_LARGE
            assert await client.keys("nothing/") == ()  # the client goes on

    run(story())


def test_a_connection_too_many_is_a_busy_server() -> None:
    with running_consul(limits={"http_max_conns_per_client": 4}) as agent, ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(socket.create_connection((HOST, agent.ports.http)))

        async def story() -> None:
            async with client_of(agent) as client:
                with pytest.raises(ConsulFailed) as raised:
                    await client.key("a")
                assert raised.value.kind is FailureKind.BUSY

        run(story())


def test_tls_with_certificates_on_both_sides(tmp_path: Path) -> None:
    authority, port = trustme.CA(), Ports.free().http
    ca, pair, mine = tmp_path / "ca.pem", tmp_path / "server.pem", tmp_path / "client.pem"
    authority.cert_pem.write_to_path(str(ca))
    authority.issue_cert("server.test").private_key_and_cert_chain_pem.write_to_path(str(pair))
    authority.issue_cert("gateway").private_key_and_cert_chain_pem.write_to_path(str(mine))
    files: dict[str, Any] = {"ca_file": str(ca), "cert_file": str(pair), "key_file": str(pair)}
    with running_consul(ports={"https": port}, verify_incoming_https=True, **files) as agent:
        agent.put("a", "1")

        async def key_with(options: str) -> Entry | None:
            client = ConsulClient(parse_address(f"consul://{HOST}:{port}?{options}", {}))
            try:
                return await client.key("a")
            finally:
                await client.close()

        known = f"ca_file={ca}&server_name=server.test"
        assert run(key_with(f"{known}&cert_file={mine}&key_file={mine}")) is not None
        for options in (known, f"ca_file={ca}&cert_file={mine}", "tls=true"):
            with pytest.raises(ConsulFailed, match=r"cannot be reached|broke"):
                run(key_with(options))


def test_failures_are_sentences(consul: ConsulAgent) -> None:
    async def story() -> None:
        nowhere = ConsulClient(parse_address(f"consul://{HOST}:{Ports.free().http}", {}))
        with pytest.raises(ConsulFailed, match=r"cannot be reached: .*refused|cannot be reached") as raised:
            await nowhere.key("a")
        assert raised.value.kind is FailureKind.UNREACHABLE
        await nowhere.close()
        async with client_of(consul, "?dc=elsewhere") as client:
            with pytest.raises(ConsulFailed, match="No path to datacenter") as raised:
                await client.key("a")
            assert raised.value.kind is FailureKind.SERVER
        async with client_of(consul) as client:
            with pytest.raises(ConsulFailed, match="413") as raised:
                await client.put("f/1", b"x" * (512 * 1024 + 1))
            assert raised.value.kind is FailureKind.REFUSED
            assert ensure_good(await client.read("/v1/health/service/nothing")).json() == []

    run(story())
