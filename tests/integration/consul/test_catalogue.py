"""Instances out of a real Consul: what is registered, what leaves, and what an answer that lies must not change."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from gateway.sources.consul.address import parse_address
from gateway.sources.consul.catalogue import SLOTS, ConsulCatalogue
from gateway.sources.consul.client import ConsulClient
from gateway.sources.consul.list_copies import ListCopies
from gateway.sources.listing import CheckState, Listing, Registration
from tests.support.consul import ConsulAgent, running_consul

_SERIAL = itertools.count()


class Followed:
    """A catalogue that follows one service of its own, and what it brought."""

    def __init__(
        self, consul: ConsulAgent, options: str = "", *, slots: int = SLOTS, copies: ListCopies | None = None
    ) -> None:
        self.consul = consul
        self.service = f"bert{next(_SERIAL)}"
        self.listings: Mapping[str, Listing] = {}
        self.times = 0
        self.reports: list[str] = []
        self.client = ConsulClient(parse_address(f"consul://{consul.address}/inference{options}", {}))
        self.catalogue = ConsulCatalogue(
            self.client,
            enlist=self._enlist,
            now=time.monotonic,
            draw=lambda: 0.1,
            copies=copies,
            report=self.reports.append,
            wait_s=20,
            slots=slots,
        )
        self.catalogue.follow(frozenset({self.service}))

    async def _enlist(self, listings: Mapping[str, Listing]) -> None:
        self.listings = listings
        self.times += 1

    def register(self, name: str, port: int = 8000, **more: Any) -> None:
        service = {"Name": self.service, "ID": f"{self.service}-{name}", "Address": "10.0.0.1", "Port": port}
        self.consul.register({**service, "Meta": {"version": "v1.0.0"}, **more})

    def deregister(self, name: str) -> None:
        self.consul.deregister(f"{self.service}-{name}")

    @property
    def listing(self) -> Listing:
        return self.listings.get(self.service, Listing(self.service))

    @property
    def names(self) -> list[str]:
        return [one.id.removeprefix(f"{self.service}-") for one in self.listing.registrations]

    def one(self, name: str) -> Registration:
        return next(one for one in self.listing.registrations if one.id == f"{self.service}-{name}")

    async def until(self, holds: Callable[[], object], *, timeout_s: float = 10.0) -> float:
        """Wait until it holds; gives the seconds that took."""
        began = time.monotonic()
        async with asyncio.timeout(timeout_s):
            while not holds():  # noqa: ASYNC110 - the story looks from outside
                await asyncio.sleep(0.01)
        return time.monotonic() - began

    async def until_names(self, *names: str) -> float:
        return await self.until(lambda: self.names == list(names))


def play(
    story: Callable[[Followed], Awaitable[None]],
    consul: ConsulAgent,
    options: str = "",
    *,
    kept: bytes = b"",
    **more: Any,
) -> None:
    """Let a catalogue run beside the story; `kept` is what its copy holds at the start."""

    async def run() -> None:
        followed = Followed(consul, options, **more)
        if kept:
            more["copies"].save(followed.service, kept)
        try:
            async with asyncio.TaskGroup() as group:
                task = group.create_task(followed.catalogue.run())
                try:
                    await story(followed)
                finally:
                    task.cancel()
        finally:
            await followed.client.close()

    asyncio.run(run())


def test_what_is_registered_is_listed_with_its_marks_within_a_second(consul: ConsulAgent) -> None:
    async def story(followed: Followed) -> None:
        await followed.until(lambda: followed.listing.read_at is not None)
        followed.register("a", Weights={"Passing": 10, "Warning": 1})
        assert await followed.until_names("a") < 2
        followed.consul.maintain(f"{followed.service}-a", enable=True, reason="disk")
        took = await followed.until(lambda: followed.one("a").maintenance == "disk")
        assert took < 2
        followed.consul.maintain(f"{followed.service}-a", enable=False)
        await followed.until(lambda: followed.one("a").maintenance is None)
        assert (followed.one("a").weight, followed.one("a").check) == (10.0, CheckState.PASSING)

    play(story, consul)


def test_check_states_come_along(consul: ConsulAgent) -> None:
    async def story(followed: Followed) -> None:
        followed.register("a", Check={"TTL": "60s", "Status": "critical"}, Weights={"Passing": 10, "Warning": 3})
        await followed.until_names("a")
        assert followed.one("a").check is CheckState.CRITICAL
        followed.consul.client.put(f"/v1/agent/check/warn/service:{followed.service}-a").raise_for_status()
        await followed.until(lambda: followed.one("a").check is CheckState.WARNING)
        assert followed.one("a").weight == 3.0

    play(story, consul)


def test_w20_one_of_two_leaves_and_w25_the_last_one_stays(consul: ConsulAgent) -> None:
    async def story(followed: Followed) -> None:
        followed.register("a")
        followed.register("b", 8001)
        await followed.until_names("a", "b")
        followed.deregister("a")
        await followed.until_names("b")
        followed.deregister("b")
        await followed.until(lambda: followed.listing.problem)
        assert followed.names == ["b"]
        assert "the list is empty" in followed.listing.problem

    play(story, consul)


def test_w3_foreign_changes_wake_nobody(consul: ConsulAgent) -> None:
    async def story(followed: Followed) -> None:
        followed.register("a")
        await followed.until_names("a")
        await asyncio.sleep(0.5)
        before = followed.times
        for number in range(20):
            followed.consul.put(f"elsewhere/{number}", "x")
        followed.consul.register({"Name": "other", "ID": "other", "Port": 1})
        await asyncio.sleep(0.5)
        assert followed.times == before

    play(story, consul)


def test_services_come_and_go_with_contracts(consul: ConsulAgent) -> None:
    async def story(followed: Followed) -> None:
        followed.register("a")
        await followed.until_names("a")
        followed.catalogue.follow(frozenset({"another"}))
        await followed.until(lambda: followed.listings.keys() == {"another"})
        followed.catalogue.follow(frozenset({"another", followed.service}))
        await followed.until_names("a")

    play(story, consul)


def test_w7_services_beyond_the_connections_take_turns(consul: ConsulAgent) -> None:
    async def story(followed: Followed) -> None:
        others = frozenset(f"crowd{number}" for number in range(3))
        followed.catalogue.follow(others | {followed.service})
        await followed.until(
            lambda: all(one in followed.listings and followed.listings[one].read_at for one in others), timeout_s=15
        )
        followed.register("a")
        assert await followed.until(lambda: followed.names == ["a"], timeout_s=15) < 8

    play(story, consul, slots=2)


def test_w1_a_snapshot_restored_forgets_no_instance(consul: ConsulAgent) -> None:
    async def story(followed: Followed) -> None:
        followed.register("a")
        await followed.until_names("a")
        snapshot = followed.consul.snapshot()
        followed.register("b", 8001)
        for number in range(20):
            followed.consul.put(f"elsewhere/{number}", str(number))
        await followed.until_names("a", "b")
        await asyncio.sleep(1)  # until a read waits again
        followed.consul.restore(snapshot)
        await asyncio.sleep(0.2)
        followed.register("c", 8002)
        await followed.until(lambda: "c" in followed.names)
        assert followed.names == ["a", "b", "c"]

    play(story, consul)


def test_w9_an_agent_that_restarts_with_nothing_empties_no_fleet() -> None:
    async def story(followed: Followed) -> None:
        followed.register("a")
        followed.register("b", 8001)
        await followed.until_names("a", "b")
        await asyncio.to_thread(followed.consul.restart)
        await followed.until(lambda: "the list is empty" in followed.listing.problem)
        followed.register("b", 8001)
        await followed.until(lambda: "filling up again" in followed.listing.problem)
        assert followed.names == ["a", "b"]
        followed.register("a")
        await followed.until(lambda: not followed.listing.problem)
        assert followed.names == ["a", "b"]

    with running_consul() as agent:
        play(story, agent)


def rights(nodes: str) -> str:
    return f'service_prefix "" {{ policy = "read" }}\nnode_prefix "" {{ policy = "{nodes}" }}'


@pytest.mark.parametrize("loss", ["node-read", "token"])
def test_lost_rights_cost_no_instance(guarded: ConsulAgent, tmp_path: Path, loss: str) -> None:
    policy = guarded.new_policy(loss, rights("read"))
    accessor, secret = guarded.new_token(loss)
    token = tmp_path / "token"
    token.write_text(secret)

    async def story(followed: Followed) -> None:
        followed.register("a")
        await followed.until_names("a")
        if loss == "token":
            guarded.revoke(accessor)
        else:
            guarded.change_policy(policy, loss, rights("deny"))
        followed.register("b", 8001)  # wakes the read
        await followed.until(lambda: followed.listing.problem, timeout_s=15)
        words = "Consul does not know the token" if loss == "token" else "the list is empty"
        assert words in followed.listing.problem
        assert followed.names == ["a"]

    play(story, guarded, f"?token_file={token}")


def test_a_copy_that_this_program_cannot_read_is_told_and_passed_over(consul: ConsulAgent, tmp_path: Path) -> None:
    copies = ListCopies(tmp_path, limit_s=60, wall=time.time)

    async def story(followed: Followed) -> None:
        followed.register("a")
        await followed.until_names("a")
        assert any("is not used" in reason for reason in followed.reports)
        await followed.until(lambda: "10.0.0.1" in (tmp_path / f"{followed.service}.json").read_text())

    play(story, consul, copies=copies, kept=b'{"of": "another program"}')
