"""What becomes of a request: routed, or answered by us."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateway.proxy.decide import Ticket, decide
from gateway.proxy.own import OwnAnswer
from gateway.proxy.request import Request
from gateway.routing.snapshot import Snapshot
from tests.support.fleets import fleet, served

FLEET = fleet("v1.0.0", served("v2.0.0", limits={"max_body_bytes": 10}), route={"default": "v1.0.0"})


def decided(path: str, *, body: bytes = b"", method: str = "POST", snapshot: Snapshot = FLEET) -> Ticket | OwnAnswer:
    request = Request(method, path.encode(), "1.1", [(b"host", b"Host", b"a")], True, body)
    return decide(request, snapshot, request_id="r-1", ready=True, max_body=1000, now=0.0, draw=0.0)


def test_a_routed_request_gets_a_ticket() -> None:
    ticket = decided("/v2.0.0/generate", body=b"0123456789")

    assert isinstance(ticket, Ticket)
    assert str(ticket.route.view.version) == "v2.0.0"
    assert ticket.target.forward == b"/generate"
    assert ticket.snapshot is FLEET


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        pytest.param("/v2.0.0/generate", b"0123456789x", 413, "payload_too_large", id="larger-than-its-contract-takes"),
        pytest.param("/v9.0.0/generate", b"", 404, "version_not_found", id="no-such-version"),
        pytest.param("/../x", b"", 400, "bad_request", id="no-such-path"),
        pytest.param("/healthz", b"", 404, "path_not_found", id="not-for-clients"),
        pytest.param("/v1/embeddings", b'{"model": 1}', 400, "bad_request", id="body-that-names-no-model"),
    ],
)
def test_problems(path: str, body: bytes, status: int, code: str) -> None:
    answer = decided(path, body=body)
    assert isinstance(answer, OwnAnswer)
    document: dict[str, Any] = json.loads(answer.body)

    assert (answer.status, answer.code, document["code"], document["status"]) == (status, code, code, status)
    assert document["request_id"] == "r-1"
    assert b"x-request-id: r-1\r\n" in answer.lines
    assert (b"x-model-version: v2.0.0\r\n" in answer.lines) is (status == 413)


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/v1/models", "/v2", "/v2/health/ready"])
def test_paths_of_our_own(path: str) -> None:
    answer = decided(path, method="GET")

    assert isinstance(answer, OwnAnswer)
    assert answer.status == 200
    assert answer.code is None
