"""Connections to one instance: what is kept, for how long, and what happens when it may not be asked any more."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import uvloop

from gateway.proxy.expiry import Expiry
from gateway.proxy.limits import Limits
from gateway.proxy.pool import Address, Pool, dial_failure
from gateway.proxy.upstream import Failure, UpstreamConnection
from tests.support.scripted import Line, Waiting, scripted

REQUEST = b"GET / HTTP/1.1\r\nhost: w\r\n\r\n"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def pool_at(port: int, *, now: Callable[[], float], host: str = "127.0.0.1", expiry: Expiry | None = None) -> Pool:
    loop = asyncio.get_running_loop()
    return Pool(Address(host, port), limits=Limits(), loop=loop, now=now, expiry=expiry or Expiry())


def play(story: Callable[[Pool, Clock], Awaitable[None]], *, answer: bytes = ANSWER) -> None:
    """Run a story with a pool of connections to a worker that answers everything."""

    async def worker(line: Line) -> None:
        while True:
            await line.request()
            await line.write(answer)

    async def both() -> None:
        clock = Clock()
        async with asyncio.timeout(30), scripted(worker) as port:
            pool = pool_at(port, now=clock)
            await story(pool, clock)
            pool.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(both())


async def answered(connection: UpstreamConnection) -> None:
    waiting = Waiting()
    connection.send(waiting, REQUEST, b"", head_only=False)
    await waiting.over.wait()
    assert waiting.complete


async def filled(pool: Pool, count: int) -> list[UpstreamConnection]:
    """Leave so many idle connections; gives them in the order they became idle."""
    connections = [await pool.dial(timeout_s=5) for _ in range(count)]
    for connection in connections:
        await answered(connection)
    assert pool.idle_count == count
    return connections


def test_the_youngest_idle_connection_is_taken_first() -> None:
    async def story(pool: Pool, clock: Clock) -> None:
        first, second = await filled(pool, 2)

        assert pool.take() is second
        assert pool.take() is first
        assert pool.take() is None
        assert second.reused

    play(story)


def test_a_fresh_connection_is_not_reused() -> None:
    async def story(pool: Pool, clock: Clock) -> None:
        assert not (await pool.dial(timeout_s=5)).reused

    play(story)


@pytest.mark.parametrize(
    ("line", "kept_s"),
    [
        pytest.param(b"", 4.0, id="the-worker-does-not-say"),
        pytest.param(b"Keep-Alive: timeout=30\r\n", 4.0, id="longer-than-we-trust-any"),
        pytest.param(b"Keep-Alive: timeout=3\r\n", 2.0, id="a-second-less-than-the-worker-says"),
    ],
)
def test_idle_connections_grow_too_old(line: bytes, kept_s: float) -> None:
    async def story(pool: Pool, clock: Clock) -> None:
        await filled(pool, 1)
        clock.now += kept_s - 0.01
        pool.expire()
        assert pool.idle_count == 1

        clock.now += 0.02
        pool.expire()
        assert (pool.idle_count, pool.open_count) == (0, 0)

        await filled(pool, 1)
        clock.now += kept_s + 0.01
        assert pool.take() is None
        assert pool.open_count == 0

    play(story, answer=b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + line + b"\r\n")


def test_a_sweep_looks_only_at_pools_whose_first_idle_connection_may_be_too_old() -> None:
    async def worker(line: Line) -> None:
        while True:
            await line.request()
            await line.write(ANSWER)

    async def story() -> None:
        clock, expiry = Clock(), Expiry()
        async with asyncio.timeout(30), scripted(worker) as port:
            early, late = (pool_at(port, now=clock, expiry=expiry) for _ in range(2))
            (connection,) = await filled(early, 1)  # kept until 104
            clock.now = 102.0
            await filled(late, 1)  # until 106
            clock.now = 103.0
            assert early.take() is connection
            await answered(connection)  # until 107 now

            for clock.now in (104.6, 105.9):
                expiry.sweep(clock.now)
                assert (early.idle_count, late.idle_count) == (1, 1)
            assert not early.is_due(106.9)
            for clock.now, left in ((106.6, (1, 0)), (107.6, (0, 0)), (200.0, (0, 0))):
                expiry.sweep(clock.now)
                assert (early.idle_count, late.idle_count) == left
            assert not early.is_due(1e9)

            await filled(early, 1)
            clock.now += 4.6
            expiry.sweep(clock.now)
            assert early.open_count == 0

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(story())


def test_a_connection_that_is_kept_for_less_than_its_siblings_is_closed_in_time() -> None:
    answers = iter((ANSWER, ANSWER.replace(b"\r\n\r\n", b"\r\nKeep-Alive: timeout=3\r\n\r\n")))

    async def worker(line: Line) -> None:
        while True:
            await line.request()
            await line.write(next(answers))

    async def story() -> None:
        clock, expiry = Clock(), Expiry()
        async with asyncio.timeout(30), scripted(worker) as port:
            pool = pool_at(port, now=clock, expiry=expiry)
            await filled(pool, 2)  # until 104 and 102
            for clock.now, left in ((101.9, 2), (102.6, 1), (103.9, 1), (104.6, 0)):
                expiry.sweep(clock.now)
                assert pool.idle_count == left

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(story())


def test_dropping_what_is_idle_also_ends_what_is_in_use_once_it_is_done() -> None:
    async def story(pool: Pool, clock: Clock) -> None:
        await filled(pool, 2)
        in_use = pool.take()
        assert in_use is not None

        pool.drop_idle()
        assert (pool.idle_count, pool.open_count) == (0, 1)
        await answered(in_use)
        assert (pool.idle_count, pool.open_count) == (0, 0)

        await filled(pool, 1)
        assert pool.take() is not None

    play(story)


def test_a_closed_pool_keeps_nothing() -> None:
    async def story(pool: Pool, clock: Clock) -> None:
        await filled(pool, 2)
        in_use = pool.take()
        assert in_use is not None

        pool.close()
        await answered(in_use)
        assert (pool.idle_count, pool.open_count) == (0, 0)

    play(story)


def dial(port: int, *, timeout_s: float = 2.0, host: str = "127.0.0.1") -> Failure | None:
    """How a dial fails; None where it does not."""

    async def attempt() -> Failure | None:
        pool = pool_at(port, host=host, now=asyncio.get_running_loop().time)
        try:
            (await pool.dial(timeout_s=timeout_s)).abort()
        except OSError as error:
            assert pool.open_count == 0
            return dial_failure(error)
        return None

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(attempt())


def test_nobody_listens() -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        assert dial(sock.getsockname()[1]) is Failure.REFUSED


def test_nobody_accepts() -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen(0)
        port = sock.getsockname()[1]
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
        try:
            assert dial(port, timeout_s=0.2) is Failure.CONNECT_TIMEOUT
        finally:
            for filler in fillers:
                filler.close()


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (ConnectionRefusedError(errno.ECONNREFUSED, "x"), Failure.REFUSED),
        (TimeoutError(), Failure.CONNECT_TIMEOUT),
        (TimeoutError(errno.ETIMEDOUT, "x"), Failure.CONNECT_TIMEOUT),
        (OSError(errno.EHOSTUNREACH, "x"), Failure.UNREACHABLE),
        (ConnectionResetError("closed at once"), Failure.UNREACHABLE),
        (OSError(errno.EMFILE, "x"), Failure.NO_SOCKET),
        (OSError(errno.EADDRNOTAVAIL, "x"), Failure.NO_SOCKET),
    ],
)
def test_what_a_failed_dial_is_called(error: OSError, failure: Failure) -> None:
    assert dial_failure(error) is failure


class GoneAtOnce:
    """A loop whose connection ends before the dial hears that it began: the order that no test can force."""

    async def create_connection(
        self,
        factory: Callable[[], UpstreamConnection],
        host: str,
        port: int,
        *,
        ssl: object,
        server_hostname: str | None,
    ) -> tuple[asyncio.Transport, UpstreamConnection]:
        transport, connection = Closed(), factory()
        connection.connection_made(transport)
        connection.connection_lost(None)
        return transport, connection


class Closed(asyncio.Transport):
    def is_closing(self) -> bool:
        return True


def test_a_connection_that_ended_before_it_was_handed_out_is_no_connection() -> None:
    async def story() -> None:
        loop: Any = GoneAtOnce()
        pool = Pool(Address("127.0.0.1", 1), limits=Limits(), loop=loop, now=Clock(), expiry=Expiry())
        with pytest.raises(ConnectionResetError):
            await pool.dial(timeout_s=1)
        assert pool.open_count == 0

    asyncio.run(story())


@pytest.mark.parametrize("factory", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_a_worker_that_hangs_up_at_once_leaves_nobody_waiting(
    factory: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def worker(line: Line) -> None:
        line.reset()

    async def story() -> None:
        async with asyncio.timeout(20), scripted(worker) as port:
            pool = pool_at(port, now=asyncio.get_running_loop().time)
            for _ in range(200):
                waiting = Waiting()
                try:
                    connection = await pool.dial(timeout_s=5)
                except OSError:
                    continue
                connection.send(waiting, REQUEST, b"", head_only=False)
                await waiting.over.wait()
                assert waiting.failure is Failure.RESET
            await asyncio.sleep(0.01)
            assert pool.open_count == 0

    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(story())
