"""One connection to a worker, on real sockets: when it is used again, when it is closed, and how an answer ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
import uvloop

from gateway.proxy.expiry import Expiry
from gateway.proxy.limits import Limits
from gateway.proxy.pool import Address, Pool
from gateway.proxy.sockets import reset_on_close
from gateway.proxy.upstream import Failure, UpstreamConnection
from tests.support.scripted import Line, Script, Waiting, scripted

REQUEST = b"POST / HTTP/1.1\r\nhost: w\r\ncontent-length: 2\r\n\r\n{}"
OK = b"HTTP/1.1 200 OK\r\n"
ANSWER = OK + b"Content-Length: 3\r\n\r\nabc"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"

LOOPS = [pytest.param(asyncio.new_event_loop, id="asyncio"), pytest.param(uvloop.new_event_loop, id="uvloop")]
Story = Callable[[Pool], Awaitable[None]]


@pytest.fixture(params=LOOPS)
def loop_factory(request: pytest.FixtureRequest) -> Callable[[], asyncio.AbstractEventLoop]:
    factory: Callable[[], asyncio.AbstractEventLoop] = request.param
    return factory


def play(loop_factory: Callable[[], asyncio.AbstractEventLoop], script: Script, story: Story, **limits: Any) -> None:
    """Run a worker by its script and a story with a pool of connections to it."""

    async def both() -> None:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(30), scripted(script) as port:
            numbers = replace(Limits(), **limits)
            pool = Pool(Address("127.0.0.1", port), limits=numbers, loop=loop, now=loop.time, expiry=Expiry())
            await story(pool)
            pool.close()

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(both())


async def connected(pool: Pool) -> UpstreamConnection:
    return pool.take() or await pool.dial(timeout_s=5)


async def ask(pool: Pool, head: bytes = REQUEST, body: bytes = b"", *, head_only: bool = False) -> Waiting:
    """Send a request over a pooled or fresh connection and wait for its end."""
    waiting = Waiting()
    (await connected(pool)).send(waiting, head, body, head_only=head_only)
    await waiting.over.wait()
    return waiting


async def settle() -> None:
    await asyncio.sleep(0.05)


async def answers(line: Line) -> None:
    while True:
        await line.request()
        await line.write(ANSWER)


# used again -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "head_only"),
    [
        pytest.param(ANSWER, False, id="length"),
        pytest.param(CHUNKED, False, id="chunked"),
        pytest.param(b"HTTP/1.1 204 X\r\n\r\n", False, id="204"),
        pytest.param(b"HTTP/1.1 304 X\r\nContent-Length: 9\r\n\r\n", False, id="304"),
        pytest.param(OK + b"Content-Length: 3\r\n\r\n", True, id="head"),
    ],
)
def test_a_connection_whose_answer_ended_cleanly_is_used_again(
    loop_factory: Callable[[], asyncio.AbstractEventLoop], answer: bytes, head_only: bool
) -> None:
    async def worker(line: Line) -> None:
        while True:
            await line.request()
            await line.write(answer)

    async def story(pool: Pool) -> None:
        first = await ask(pool, head_only=head_only)
        second = await ask(pool, head_only=head_only)

        assert first.complete
        assert second.complete
        assert (pool.open_count, pool.idle_count) == (1, 1)
        assert first.body == second.body == (b"" if head_only or b" 200 " not in answer else b"abc")

    play(loop_factory, worker, story)


@pytest.mark.parametrize(
    ("answer", "head_only"),
    [
        pytest.param(OK + b"Connection: close\r\nContent-Length: 3\r\n\r\nabc", False, id="worker-closes"),
        pytest.param(b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc", False, id="1.0"),
        pytest.param(ANSWER + b"x", False, id="a-byte-behind"),
        pytest.param(ANSWER + b"\r\n", False, id="an-empty-line-behind"),
        pytest.param(ANSWER + ANSWER, False, id="an-answer-nobody-asked-for"),
        pytest.param(b"HTTP/1.1 204 X\r\nContent-Length: 3\r\n\r\nabc", False, id="204-with-a-body"),
        pytest.param(ANSWER, True, id="head-with-a-body"),
        pytest.param(OK + b"Keep-Alive: timeout=1\r\nContent-Length: 3\r\n\r\nabc", False, id="kept-for-too-short"),
    ],
)
def test_in_any_doubt_a_connection_is_closed_after_its_answer(
    loop_factory: Callable[[], asyncio.AbstractEventLoop], answer: bytes, head_only: bool
) -> None:
    saw_end = []

    async def worker(line: Line) -> None:
        await line.request()
        await line.write(answer)
        saw_end.append(await line.closed())

    async def story(pool: Pool) -> None:
        waiting = await ask(pool, head_only=head_only)
        assert waiting.complete
        assert (pool.open_count, pool.idle_count) == (0, 0)
        await settle()
        assert saw_end == [True]

    play(loop_factory, worker, story)


@pytest.mark.parametrize("poison", [b"x", b"\r\n", ANSWER], ids=["byte", "empty-line", "answer"])
def test_any_byte_on_an_idle_connection_closes_it(
    loop_factory: Callable[[], asyncio.AbstractEventLoop], poison: bytes
) -> None:
    async def worker(line: Line) -> None:
        await line.request()
        await line.write(ANSWER if line.number == 0 else CHUNKED, poison, gap_s=0.02)

    async def story(pool: Pool) -> None:
        first = await ask(pool)
        assert pool.idle_count == 1
        await settle()
        assert (pool.open_count, pool.idle_count) == (0, 0)
        second = await ask(pool)
        assert (first.body, second.body) == (b"abc", b"abc")
        assert second.head is not None
        assert second.head.length is None

    play(loop_factory, worker, story)


def test_the_end_of_an_idle_connection_is_noticed(loop_factory: Callable[[], asyncio.AbstractEventLoop]) -> None:
    async def worker(line: Line) -> None:
        await line.request()
        await line.write(ANSWER)
        line.fin()

    async def story(pool: Pool) -> None:
        await ask(pool)
        await settle()
        assert (pool.open_count, pool.idle_count) == (0, 0)

    play(loop_factory, worker, story)


def test_a_connection_paused_by_the_last_bytes_of_an_answer_is_not_stuck_for_the_next(
    loop_factory: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    # The client's buffer fills up with the very last piece: whoever pauses then must not pause an idle connection.
    async def story(pool: Pool) -> None:
        connection = await connected(pool)

        class Slow(Waiting):
            def on_data(self, data: bytes, *, complete: bool) -> None:
                connection.pause()
                super().on_data(data, complete=complete)

        waiting = Slow()
        connection.send(waiting, REQUEST, b"", head_only=False)
        await waiting.over.wait()

        assert (await ask(pool)).body == b"abc"

    play(loop_factory, answers, story)


def test_a_connection_released_while_paused_reads_again(
    loop_factory: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def worker(line: Line) -> None:
        await line.request()
        await line.write(OK + b"Content-Length: 6\r\n\r\nabc", b"def", gap_s=0.02)
        await line.request()
        await line.write(ANSWER)

    async def story(pool: Pool) -> None:
        waiting = Waiting()
        connection = await connected(pool)
        connection.send(waiting, REQUEST, b"", head_only=False)
        await asyncio.sleep(0.01)
        connection.pause()
        connection.pause()
        await settle()
        assert not waiting.complete
        connection.resume()
        connection.resume()
        await waiting.over.wait()
        assert waiting.body == b"abcdef"
        assert (await ask(pool)).body == b"abc"
        assert pool.open_count == 1

    play(loop_factory, worker, story)


def test_an_answer_that_ends_while_paused_leaves_a_connection_that_reads(
    loop_factory: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def worker(line: Line) -> None:
        await line.request()
        await line.request()
        await line.write(ANSWER)

    async def story(pool: Pool) -> None:
        waiting = Waiting()
        connection = await connected(pool)
        connection.send(waiting, REQUEST, b"", head_only=False)
        connection.pause()
        connection.data_received(ANSWER)  # as TLS does with what it had decrypted before the pause
        assert waiting.complete
        assert (await ask(pool)).body == b"abc"
        assert pool.open_count == 1

    play(loop_factory, worker, story)


# the end of an answer -------------------------------------------------------------------------------------------------


def test_head_and_body_of_one_read_are_handed_over_once(
    loop_factory: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def worker(line: Line) -> None:
        await line.request()
        await line.write(OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n", b"1\r\nc\r\n", b"0\r\n\r\n")

    async def story(pool: Pool) -> None:
        waiting = await ask(pool)
        assert waiting.calls == ["head", "data", "data", "data"]
        assert waiting.body == b"abc"

    play(loop_factory, worker, story)


def test_a_head_alone_is_handed_over_at_once(loop_factory: Callable[[], asyncio.AbstractEventLoop]) -> None:
    async def worker(line: Line) -> None:
        await line.request()
        await line.write(OK + b"Transfer-Encoding: chunked\r\n\r\n")
        await line.closed()

    async def story(pool: Pool) -> None:
        waiting = Waiting()
        connection = await connected(pool)
        connection.send(waiting, REQUEST, b"", head_only=False)
        await settle()
        assert waiting.calls == ["head", "data"]
        connection.abort()
        assert not waiting.over.is_set()
        assert pool.open_count == 0

    play(loop_factory, worker, story)


def test_an_answer_refused_at_its_head_brings_no_body(
    loop_factory: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def worker(line: Line) -> None:
        await line.request()
        await line.write(ANSWER)

    async def story(pool: Pool) -> None:
        connection = await connected(pool)
        waiting = Waiting(refuse=connection)
        connection.send(waiting, REQUEST, b"", head_only=False)
        await settle()
        assert waiting.calls == ["head"]
        assert (pool.open_count, pool.idle_count) == (0, 0)

    play(loop_factory, worker, story)


@pytest.mark.parametrize("end", ["fin", "reset"])
@pytest.mark.parametrize(
    ("sent", "failure"),
    [
        pytest.param(b"", Failure.RESET, id="nothing"),
        pytest.param(b"HTTP/1.1 20", Failure.MALFORMED, id="half-a-head"),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n", Failure.MALFORMED, id="an-interim-answer"),
        pytest.param(OK + b"Content-Length: 3\r\n\r\nab", Failure.TRUNCATED, id="short-length"),
        pytest.param(OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", Failure.TRUNCATED, id="no-last-chunk"),
        pytest.param(
            OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n", Failure.TRUNCATED, id="last-chunk-without-crlf"
        ),
        pytest.param(OK + b"\r\nabc", Failure.MALFORMED, id="close-delimited"),
    ],
)
def test_what_a_cut_answer_is_called(
    loop_factory: Callable[[], asyncio.AbstractEventLoop], end: str, sent: bytes, failure: Failure
) -> None:
    async def worker(line: Line) -> None:
        await line.request()
        await line.write(sent)
        await asyncio.sleep(0.02)
        getattr(line, end)()

    async def story(pool: Pool) -> None:
        waiting = await ask(pool)
        assert waiting.failure is failure
        assert waiting.detail
        assert not waiting.complete
        assert waiting.calls.count("failed") == 1
        assert (pool.open_count, pool.idle_count) == (0, 0)

    play(loop_factory, worker, story)


def test_an_answer_that_breaks_fails_once(loop_factory: Callable[[], asyncio.AbstractEventLoop]) -> None:
    async def worker(line: Line) -> None:
        await line.request()
        await line.write(OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\nzz\r\n")
        await line.closed()

    async def story(pool: Pool) -> None:
        waiting = await ask(pool)
        await settle()
        assert waiting.calls == ["head", "data", "failed"]
        assert (waiting.failure, waiting.body) == (Failure.TRUNCATED, b"a")

    play(loop_factory, worker, story)


BODY = bytes(range(33, 127)) * 11
ONE_KIB = {
    "length": OK + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY,
    "chunked": OK
    + b"Transfer-Encoding: chunked\r\n\r\n"
    + b"".join(b"%x\r\n%b\r\n" % (len(BODY[at : at + 100]), BODY[at : at + 100]) for at in range(0, len(BODY), 100))
    + b"0\r\n\r\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("end", ["fin", "reset"])
@pytest.mark.parametrize("framing", sorted(ONE_KIB))
def test_an_answer_cut_at_any_byte_is_never_complete(framing: str, end: str) -> None:
    answer = ONE_KIB[framing]
    complete: list[int] = []
    failed: set[int] = set()

    async def worker(line: Line) -> None:
        head = await line.request()
        cut = int(head.split(b" ")[1].removeprefix(b"/"))
        await line.write(answer[:cut])
        getattr(line, end)()

    async def one(pool: Pool, cut: int) -> None:
        waiting = await ask(pool, b"GET /%d HTTP/1.1\r\nhost: w\r\n\r\n" % cut)
        assert BODY.startswith(waiting.body)
        if waiting.complete:
            complete.append(cut)
        else:
            failed.add(cut)

    async def story(pool: Pool) -> None:
        for at in range(0, len(answer) + 1, 50):
            await asyncio.gather(*(one(pool, cut) for cut in range(at, min(at + 50, len(answer) + 1))))

    play(uvloop.new_event_loop, worker, story)
    # A reset may overtake the last bytes, so even the whole answer need not arrive; a part never counts as whole.
    assert failed >= set(range(len(answer)))
    assert complete in ([len(answer)], []) if end == "reset" else complete == [len(answer)]


# stale connections ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["fin", "reset"])
def test_a_kept_connection_that_closes_before_a_byte_is_stale(
    loop_factory: Callable[[], asyncio.AbstractEventLoop], end: str
) -> None:
    async def worker(line: Line) -> None:
        await line.request()
        await line.write(ANSWER)
        await line.request()
        getattr(line, end)()

    async def story(pool: Pool) -> None:
        assert (await ask(pool)).complete
        assert (await ask(pool)).failure is Failure.STALE

    play(loop_factory, worker, story)


def test_a_kept_connection_that_closes_after_a_byte_is_not_stale(
    loop_factory: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def worker(line: Line) -> None:
        await line.request()
        await line.write(ANSWER)
        await line.request()
        await line.write(b"H")
        line.fin()

    async def story(pool: Pool) -> None:
        assert (await ask(pool)).complete
        assert (await ask(pool)).failure is Failure.MALFORMED

    play(loop_factory, worker, story)


# early answers --------------------------------------------------------------------------------------------------------

LARGE = b"POST / HTTP/1.1\r\nhost: w\r\ncontent-length: 20000000\r\n\r\n"
BYTES = b"x" * 20_000_000


def test_an_answer_before_the_body_was_taken_is_relayed_and_its_connection_closed(
    loop_factory: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def worker(line: Line) -> None:
        await line.reader.readuntil(b"\r\n\r\n")
        await line.write(b"HTTP/1.1 413 X\r\nContent-Length: 3\r\n\r\nbig")
        await asyncio.sleep(5)

    async def story(pool: Pool) -> None:
        waiting = await ask(pool, LARGE, BYTES)
        assert waiting.head is not None
        assert (waiting.head.status, waiting.body) == (413, b"big")
        assert (pool.open_count, pool.idle_count) == (0, 0)

    play(loop_factory, worker, story)


def test_an_early_answer_of_a_worker_that_hangs_up_is_relayed_too(
    loop_factory: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def worker(line: Line) -> None:
        await line.reader.readuntil(b"\r\n\r\n")
        await line.write(b"HTTP/1.1 413 X\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbig")
        line.writer.write_eof()
        await asyncio.sleep(0.05)
        line.fin()

    async def story(pool: Pool) -> None:
        waiting = await ask(pool, LARGE, BYTES)
        assert waiting.head is not None
        assert (waiting.head.status, waiting.body) == (413, b"big")

    play(loop_factory, worker, story)


def test_a_large_request_is_written_whole(loop_factory: Callable[[], asyncio.AbstractEventLoop]) -> None:
    async def worker(line: Line) -> None:
        await line.request()
        await line.write(ANSWER)

    async def story(pool: Pool) -> None:
        assert (await ask(pool, LARGE, BYTES)).complete
        assert pool.idle_count == 1

    play(loop_factory, worker, story)


def test_closing_an_upstream_connection_is_seen_by_its_worker_at_once(
    loop_factory: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    seen: list[float] = []

    async def worker(line: Line) -> None:
        await line.request()
        await line.closed()
        seen.append(asyncio.get_running_loop().time())

    async def story(pool: Pool) -> None:
        connection = await connected(pool)
        connection.send(Waiting(), REQUEST, b"", head_only=False)
        await settle()
        left_at = asyncio.get_running_loop().time()
        connection.abort()
        await settle()
        assert seen
        assert seen[0] - left_at < 0.1

    play(loop_factory, worker, story)


def test_a_cut_can_be_made_a_reset(loop_factory: Callable[[], asyncio.AbstractEventLoop]) -> None:
    how: list[str] = []

    async def worker(line: Line) -> None:
        try:
            await line.reader.read(1)
            how.append("end")
        except ConnectionResetError:
            how.append("reset")

    async def story(pool: Pool) -> None:
        connection = await connected(pool)
        assert connection.transport is not None
        reset_on_close(connection.transport)
        connection.abort()
        await settle()
        assert how == ["reset"]

    play(loop_factory, worker, story)


@pytest.mark.parametrize("size", [0, 65_536, 65_537, 1_000_000])
def test_head_and_body_arrive_as_one_request(loop_factory: Callable[[], asyncio.AbstractEventLoop], size: int) -> None:
    body = bytes(at % 251 for at in range(size))
    got: list[bytes] = []

    async def worker(line: Line) -> None:
        await line.reader.readuntil(b"\r\n\r\n")
        got.append(await line.reader.readexactly(size))
        await line.write(ANSWER)

    async def story(pool: Pool) -> None:
        assert (await ask(pool, b"POST / HTTP/1.1\r\nhost: w\r\ncontent-length: %d\r\n\r\n" % size, body)).complete
        assert got == [body]
        assert pool.idle_count == 1

    play(loop_factory, worker, story)
