"""Every byte case through the gateway as it ships, with a real worker behind it (http.md section 7).

Each case talks from a loopback address of its own. The gateway tells the worker that address in `X-Forwarded-For`, so
what the worker saw can be laid to the case that caused it although all run at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import h11
import httptools
import pytest

from tests.support.gateway_process import GatewayProcess, running, write_documents
from tests.support.http_cases import HttpCase, http_cases
from tests.support.raw import Response, Wire, request
from tests.support.stub_worker import Seen, StubWorker, contract_for

pytestmark = pytest.mark.slow

CASES = http_cases()
SOURCES = {case.id: f"127.0.1.{number}" for number, case in enumerate(CASES, start=1)}


@dataclass(frozen=True)
class Result:
    """What came of one case."""

    interim: list[int]
    final: list[Response]
    closed: bool
    second: Response | None
    """The answer to a plain request on the same connection, where the case says that it stays open."""


@dataclass(frozen=True)
class Run:
    """What came of all cases, and what the worker saw meanwhile."""

    results: dict[str, Result]
    seen: dict[str, list[Seen]]
    """By the address that the gateway said it came from."""
    alive: bool


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder: Path = tmp_path_factory.mktemp("documents")
    with StubWorker() as worker:
        write_documents(folder, contract_for(worker))
        with running(folder, probe_interval=5.0) as gateway:
            gateway.wait_verified(1)
            with ThreadPoolExecutor(32) as threads:
                results = dict(zip(SOURCES, threads.map(lambda case: play(gateway, case), CASES), strict=True))
            alive = gateway.process is not None and gateway.process.poll() is None
            yield Run(results, by_source(worker.seen), alive)


def play(gateway: GatewayProcess, case: HttpCase) -> Result:
    """Send the segments of a case and read what comes."""
    with Wire(gateway.port, source=SOURCES[case.id]) as wire:
        for number, segment in enumerate(case.segments):
            if number and case.gap_s:
                wire.read(case.gap_s)
            if not wire.send(segment):
                break
        conversation = wire.read(case.wait_s)
        responses, closed = conversation.responses, conversation.closed
        finals = [response for response in responses if response.status >= 200 or response.status == 0]
        second = None
        if case.close is False and not closed:
            wire.send(request("GET", "/"))
            after = wire.read(2.0, until=len(finals) + 1).responses
            second = after[-1] if len(after) > len(responses) else None
    return Result([r.status for r in responses if 100 <= r.status < 200], finals, closed, second)


def by_source(seen: list[Seen]) -> dict[str, list[Seen]]:
    found: dict[str, list[Seen]] = {}
    for one in seen:
        found.setdefault((one.header("x-forwarded-for") or b"").decode("latin-1"), []).append(one)
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(run: Run, case: HttpCase) -> None:
    result = run.results[case.id]
    first = result.final[0] if result.final else None

    assert (first.status if first is not None else "none") in case.statuses
    assert set(result.interim) <= case.interim
    assert len(result.final) <= case.responses
    assert all(response.complete for response in result.final)
    if case.close is not None:
        assert result.closed is case.close
    if case.close is False:
        assert result.second is not None
        assert result.second.status == 200
    if first is not None:
        assert not [text for text in case.never_in_first_response if text.lower() in first.head.lower()]
    for seen in run.seen.get(SOURCES[case.id], []):
        assert not [text for text in case.never_seen_by_worker if text in seen.raw_head]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_an_answer_of_ours_is_a_problem_that_names_its_request(run: Run, case: HttpCase) -> None:
    for response in run.results[case.id].final:
        assert response.headers("x-request-id")
        assert response.headers("x-config-generation") == ["1"]
        assert response.headers("date")
        if response.status >= 400:
            assert response.header("content-type") == "application/problem+json"
            assert response.header("x-inference-dna") is None


def test_what_the_worker_saw_came_from_the_cases_and_reads_one_way_only(run: Run) -> None:
    assert set(run.seen) <= set(SOURCES.values())
    for seen in (one for many in run.seen.values() for one in many):
        assert as_httptools(seen) == as_h11(seen)


def test_the_gateway_is_none_the_worse(run: Run) -> None:
    assert run.alive
    assert sum(len(many) for many in run.seen.values()) > 20


Parsed = tuple[bytes, bytes, list[tuple[bytes, bytes]], bytes]


def as_httptools(seen: Seen) -> Parsed:
    class Collector:
        def __init__(self) -> None:
            self.target, self.body, self.complete = b"", b"", 0
            self.headers: list[tuple[bytes, bytes]] = []

        def on_url(self, url: bytes) -> None:
            self.target += url

        def on_header(self, name: bytes, value: bytes) -> None:
            self.headers.append((name.lower(), value))

        def on_body(self, body: bytes) -> None:
            self.body += body

        def on_message_complete(self) -> None:
            self.complete += 1

    collector = Collector()
    parser = httptools.HttpRequestParser(collector)
    parser.feed_data(seen.raw_head + seen.body)
    assert collector.complete == 1
    return parser.get_method(), collector.target, collector.headers, collector.body


def as_h11(seen: Seen) -> Parsed:
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(seen.raw_head + seen.body)
    head, body = connection.next_event(), b""
    assert isinstance(head, h11.Request)
    while isinstance(event := connection.next_event(), h11.Data):
        body += bytes(event.data)
    assert isinstance(event, h11.EndOfMessage)
    assert connection.trailing_data[0] == b""
    return head.method, head.target, list(head.headers), body
