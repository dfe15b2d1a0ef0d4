"""A request never looks at the whole fleet (issue 3): counted in calls, which are the same on every machine."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from types import FrameType

import pytest

from gateway.proxy.upstream import UpstreamConnection
from gateway.routing.snapshot import Snapshot
from tests.support.data_plane import Gateway, Wire
from tests.support.fleets import MODEL, fleet, served, together, worker
from tests.support.stub_worker import digests_of

pytestmark = pytest.mark.interpreted  # compiled functions call each other unseen
REQUEST = b"GET /v1.0.0/generate HTTP/1.1\r\nhost: gw\r\nx-model-id: %b\r\n\r\n" % MODEL.encode()
OURS = digests_of("a")
ACCEPTED = {"dna": OURS.dna(), "digest": f"sha256:{OURS.runtime}"}
LINES = ("HTTP/1.1 200 OK", f"x-inference-dna: {OURS.dna()}", f"x-inference-digest: sha256:{OURS.runtime}")
ANSWER = "\r\n".join((*LINES, "content-length: 2", "", "{}")).encode()


def instances(count: int) -> Snapshot:
    workers = [worker("v1.0.0", f"w{number}", dna=OURS.dna()) for number in range(count)]
    return fleet(served("v1.0.0", *workers, dna=[ACCEPTED]))


def contracts(count: int) -> Snapshot:
    others = [fleet("v1.0.0", model_id=f"other-{number}") for number in range(1, count)]
    return together(instances(1), *others)


def calls_of_one_exchange(snapshot: Snapshot) -> int:
    """Count the calls, of Python and C functions, from the request's first byte to the answer's last."""
    calls = list[str]()

    def count(frame: FrameType, event: str, argument: object) -> None:
        calls.append(event)

    def counted(receive: Callable[[bytes], None], data: bytes) -> None:
        sys.setprofile(count)
        try:
            receive(data)
        finally:
            sys.setprofile(None)

    async def story() -> bytes:
        gateway = Gateway(snapshot)
        connections = connected(gateway, snapshot)
        client, wire = gateway.connect()
        counted(client.data_received, REQUEST)
        (asked,) = [connection for wire, connection in connections.items() if wire.written]
        counted(asked.data_received, ANSWER)
        return wire.written

    assert asyncio.run(story()).endswith(b"{}")
    return calls.count("call") + calls.count("c_call")


def connected(gateway: Gateway, snapshot: Snapshot) -> dict[Wire, UpstreamConnection]:
    """Hold one idle connection to every instance of the model that is asked."""
    made = dict[Wire, UpstreamConnection]()
    for view in snapshot.models[MODEL].ranked:
        for instance in view.ready:
            pool = gateway.plane.destination(gateway.plane.traffic(view.key, view.contract), instance).pool
            connection = UpstreamConnection(pool, gateway.plane.limits)
            wire = Wire()
            connection.connection_made(wire)
            pool.give_back(connection)
            made[wire] = connection
    return made


@pytest.fixture(autouse=True)
def _warm() -> None:
    """The first exchange of a process reads some things that are remembered."""
    calls_of_one_exchange(instances(1))


def test_a_request_makes_as_many_calls_among_two_thousand_instances_as_among_two() -> None:
    assert calls_of_one_exchange(instances(2_000)) == calls_of_one_exchange(instances(2))


def test_a_request_makes_as_many_calls_among_two_thousand_contracts_as_with_one() -> None:
    assert calls_of_one_exchange(contracts(2_000)) == calls_of_one_exchange(contracts(1))
