"""Replies that Consul 1.8 cannot be made to give: whatever comes, the last good documents go on serving."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable

import pytest

from tests.support.consul import ConsulAgent
from tests.support.consul_between import Spoiled, between
from tests.support.control import MODEL, contract
from tests.support.watched_consul import WatchedConsul

_numbers = itertools.count()


def put(agent: ConsulAgent, prefix: str, strikes: int) -> None:
    agent.put(f"{prefix}/contracts/{MODEL}/v1.0.0", contract("v1.0.0", "http://10.0.0.1:8000", strikes=strikes))


def filtered(reply: Spoiled) -> None:
    reply.headers["x-consul-results-filtered-by-acls"] = "true"


def busy(reply: Spoiled) -> None:
    reply.status, reply.body = 429, b"Your IP is issuing too many concurrent connections"


def cut(reply: Spoiled) -> None:
    reply.cut = len(reply.body) // 2


def page(reply: Spoiled) -> None:
    reply.body = b"<html>502 Bad Gateway</html>"


def stranger(reply: Spoiled) -> None:
    reply.status, reply.body = 200, b"<html>Please log in</html>"
    reply.headers.clear()


def no_base64(reply: Spoiled) -> None:
    reply.body = reply.body.replace(b'"Value": "', b'"Value": "!')


def failed(reply: Spoiled) -> None:
    reply.status, reply.body = 500, b"rpc error making call: EOF"


@pytest.mark.parametrize(
    ("row", "spoil", "word"),
    [
        ("W6", filtered, "may not read"),
        ("W7", busy, "busy"),
        ("W8", failed, "no leader"),
        ("W11", cut, "broke"),
        ("W11", page, "no list of keys"),
        ("W11", stranger, "no list of keys"),
        ("W11", no_base64, "no list of keys"),
    ],
)
def test_a_reply_that_cannot_be_used_changes_nothing(
    consul: ConsulAgent, row: str, spoil: Callable[[Spoiled], None], word: str
) -> None:
    prefix = f"s{next(_numbers)}"
    put(consul, prefix, 4)
    looked = threading.Event()

    async def story() -> None:
        async with WatchedConsul(f"consul://{proxy.address}/{prefix}").running() as watched:

            def spoil_until_refused(reply: Spoiled) -> None:
                # Were replies spoiled until the test has looked, there would be the more of them the slower the
                # machine, and after each the gateway waits longer before it asks again. So it is held up instead.
                if watched.consul.errors != errors:
                    looked.wait()
                else:
                    spoil(reply)

            await watched.until_strikes(4)
            generation, errors = watched.generation, watched.consul.errors
            proxy.spoil = spoil_until_refused
            put(consul, prefix, 5)
            try:
                await watched.until(lambda: word in watched.problems)
                assert not watched.watcher.state.ok
                assert (watched.strikes(), watched.generation) == (4, generation)
            finally:
                looked.set()
                proxy.spoil = lambda reply: None
            await watched.until_strikes(5)
            await watched.until_good()

    with between(consul) as proxy:
        asyncio.run(story())


def test_news_whose_second_look_was_spoiled_is_taken_later(consul: ConsulAgent) -> None:
    prefix = f"s{next(_numbers)}"
    put(consul, prefix, 4)
    replies = itertools.count()

    def spoil(reply: Spoiled) -> None:
        if next(replies) in {1, 2}:  # the look whether all stands still, and the reading that follows
            filtered(reply)

    async def story() -> None:
        async with WatchedConsul(f"consul://{proxy.address}/{prefix}").running() as watched:
            await watched.until_strikes(4)
            proxy.spoil = spoil
            put(consul, prefix, 5)
            await watched.until_strikes(5)
            assert watched.odd["shorter"] == 1

    with between(consul) as proxy:
        asyncio.run(story())


@pytest.mark.parametrize("index", ["0", ""])
def test_w2_an_index_of_zero_or_none_is_counted_and_does_not_spin(consul: ConsulAgent, index: str) -> None:
    prefix = f"s{next(_numbers)}"
    put(consul, prefix, 4)

    def spoil(reply: Spoiled) -> None:
        reply.headers["x-consul-index"] = index

    async def story() -> None:
        async with WatchedConsul(f"consul://{proxy.address}/{prefix}").running() as watched:
            await watched.until_strikes(4)
            before = watched.client.calls
            await asyncio.sleep(2)
            assert watched.client.calls - before <= 5
            put(consul, prefix, 5)
            await watched.until_strikes(5)
            assert watched.odd["no_index"] >= 1
            assert watched.watcher.state.ok

    with between(consul) as proxy:
        proxy.spoil = spoil
        asyncio.run(story())


def test_w17_what_a_server_without_a_leader_says_is_taken_and_not_called_fresh(consul: ConsulAgent) -> None:
    prefix = f"s{next(_numbers)}"
    put(consul, prefix, 4)

    def spoil(reply: Spoiled) -> None:
        reply.headers["x-consul-knownleader"] = "false"

    async def story() -> None:
        async with WatchedConsul(f"consul://{proxy.address}/{prefix}").running() as watched:
            await watched.until_strikes(4)
            assert "no leader" in watched.problems
            assert watched.watcher.state.last_good_at is None
            proxy.spoil = lambda reply: None
            await watched.until_good()

    with between(consul) as proxy:
        proxy.spoil = spoil
        asyncio.run(story())
