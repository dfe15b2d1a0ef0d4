"""Members of a fleet as keys of a real Consul: coming, beating, being buried, and what strangers wrote there."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable

import pytest

from gateway.control.membership import FIRST_READ, Member
from gateway.health.identity import Identity
from gateway.sharing.bulletin import NO_BULLETIN, read_bulletin, write_bulletin
from gateway.sharing.sighting import sighting_of
from gateway.sources.consul.address import parse_address
from gateway.sources.consul.client import ConsulClient
from gateway.sources.consul.failed import ConsulFailed, FailureKind
from tests.support.consul import ConsulAgent
from tests.support.control import stated

_numbers = itertools.count()
BULLETIN = write_bulletin(
    [sighting_of(("m", "v1.0.0", "http://10.0.0.1:1"), stated("b"), Identity.EJECTED, serial=1)], members=2
).text

Story = Callable[[ConsulClient, str], Awaitable[None]]


@pytest.fixture
def prefix() -> str:
    return f"fleet-{next(_numbers)}"


@pytest.fixture
def tell(consul: ConsulAgent, prefix: str) -> Callable[[Story], None]:
    """Run a story with a client and a prefix of its own."""

    def run(story: Story) -> None:
        async def main() -> None:
            client = ConsulClient(parse_address(f"consul://{consul.address}/x", {}))
            try:
                await story(client, prefix)
            finally:
                await client.close()

        asyncio.run(main())

    return run


def test_members_see_each_other_come_and_go(tell: Callable[[Story], None]) -> None:
    async def story(client: ConsulClient, prefix: str) -> None:
        a, b = (Member(client, prefix=prefix, name=name) for name in ("a~1", "b~1"))
        await a.join()
        names, known = await a.members(FIRST_READ)
        assert names == frozenset({"a~1"})
        waiting = asyncio.ensure_future(a.members(known))
        await b.join()
        names, known = await waiting
        assert names == frozenset({"a~1", "b~1"})
        waiting = asyncio.ensure_future(a.members(known))
        await b.leave()
        assert (await waiting)[0] == frozenset({"a~1"})

    tell(story)


def test_what_one_tells_the_others_read_until_it_leaves(tell: Callable[[Story], None]) -> None:
    async def story(client: ConsulClient, prefix: str) -> None:
        a, b = (Member(client, prefix=prefix, name=name) for name in ("a~1", "b~1"))
        await a.join()
        await b.join()
        told, known = await a.bulletins(FIRST_READ)
        assert told == {}
        waiting = asyncio.ensure_future(a.bulletins(known))
        await b.beat()  # wakes nobody
        await b.tell(BULLETIN)
        told, known = await waiting
        assert told == {"b~1": read_bulletin(BULLETIN)}
        waiting = asyncio.ensure_future(a.bulletins(known))
        await b.tell(b"")
        assert (await waiting)[0] == {}

    tell(story)


def test_what_is_no_bulletin_counts_as_an_empty_one(consul: ConsulAgent, tell: Callable[[Story], None]) -> None:
    async def story(client: ConsulClient, prefix: str) -> None:
        consul.put(f"{prefix}/bulletins/x~1", "<html>")
        consul.put(f"{prefix}/bulletins/not a name", BULLETIN)
        consul.put(f"{prefix}/bulletins/y~1", BULLETIN)
        a = Member(client, prefix=prefix, name="a~1")
        await a.join()
        told, _ = await a.bulletins(FIRST_READ)
        assert told == {"x~1": NO_BULLETIN, "y~1": read_bulletin(BULLETIN)}

    tell(story)


def test_a_silent_member_is_buried_and_learns_it_with_its_next_beat(tell: Callable[[Story], None]) -> None:
    async def story(client: ConsulClient, prefix: str) -> None:
        a, b = (Member(client, prefix=prefix, name=name) for name in ("a~1", "b~1"))
        await a.join()
        await b.join()
        await b.tell(BULLETIN)
        beats = await a.beats(["b~1"])
        assert await a.bury("b~1", beats["b~1"])
        assert (await a.members(FIRST_READ))[0] == frozenset({"a~1"})
        assert (await a.bulletins(FIRST_READ))[0] == {}
        with pytest.raises(ConsulFailed, match="found this one silent"):
            await b.beat()

    tell(story)


def test_nobody_is_buried_whose_beat_has_moved_meanwhile(tell: Callable[[Story], None]) -> None:
    async def story(client: ConsulClient, prefix: str) -> None:
        a, b = (Member(client, prefix=prefix, name=name) for name in ("a~1", "b~1"))
        await a.join()
        await b.join()
        beats = await a.beats(["b~1"])
        await b.beat()
        assert not await a.bury("b~1", beats["b~1"])
        assert (await a.members(FIRST_READ))[0] == frozenset({"a~1", "b~1"})

    tell(story)


def test_keys_without_a_session_are_buried_too(consul: ConsulAgent, tell: Callable[[Story], None]) -> None:
    """A restored Consul may hold them."""

    async def story(client: ConsulClient, prefix: str) -> None:
        consul.put(f"{prefix}/gateways/ghost~1", "{}")
        a = Member(client, prefix=prefix, name="a~1")
        await a.join()
        beats = await a.beats(["ghost~1"])
        assert beats == {"ghost~1": None}
        assert await a.bury("ghost~1", None)
        assert (await a.members(FIRST_READ))[0] == frozenset({"a~1"})
        assert not await a.bury("ghost~1", None)

    tell(story)


def test_a_frozen_consul_is_away_within_two_seconds(consul: ConsulAgent, tell: Callable[[Story], None]) -> None:
    async def story(client: ConsulClient, prefix: str) -> None:
        a = Member(client, prefix=prefix, name="a~1")
        await a.join()
        consul.pause()
        try:
            with pytest.raises(ConsulFailed) as failed:
                await a.beat()
            assert failed.value.kind is FailureKind.TIMEOUT
        finally:
            consul.resume()

    tell(story)


RIGHTS = 'key_prefix "{prefix}/" {{ policy = "write" }}\nsession_prefix "" {{ policy = "write" }}'


def test_the_rights_that_the_guide_names_are_enough_and_needed(guarded: ConsulAgent) -> None:
    guarded.new_policy("sharing", RIGHTS.format(prefix="guarded-fleet"))
    guarded.new_policy("reading", 'key_prefix "guarded-fleet/" { policy = "read" }')
    _, enough = guarded.new_token("sharing")
    _, less = guarded.new_token("reading")

    async def live(token: str) -> None:
        address = parse_address(f"consul://{guarded.address}/x", {"CONSUL_HTTP_TOKEN": token})
        client = ConsulClient(address)
        member = Member(client, prefix="guarded-fleet", name=f"a~{next(_numbers)}")
        try:
            await member.join()
            await member.beat()
            await member.tell(BULLETIN)
            names, _ = await member.members(FIRST_READ)
            assert names == frozenset({member.name})
            await member.bury(member.name, "1")
        finally:
            await client.close()

    asyncio.run(live(enough))
    with pytest.raises(ConsulFailed) as failed:
        asyncio.run(live(less))
    assert failed.value.kind is FailureKind.DENIED
