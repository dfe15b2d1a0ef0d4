"""Requests reach the version they ask for, proven by what the worker writes in the body."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.support.gateway_process import GatewayProcess, http, running, write_documents
from tests.support.load import fetch_all
from tests.support.raw import request, talk
from tests.support.stub_worker import StubWorker, contract_for, workers

Fleet = tuple[GatewayProcess, dict[str, StubWorker]]
VERSIONS = ("v2.3.9", "v2.4.0", "v2.4.1")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    folder = tmp_path_factory.mktemp("documents")
    made = [StubWorker(version=version, seed=version, name=version) for version in VERSIONS]
    with workers(*made):
        route = {
            "model_id": "m",
            "default": "^2.3",
            "aliases": {"stable": "v2.3.9"},
            "sticky": "header:X-User-Id",
            "canary_rules": [{"version": "v2.3.9", "traffic_percentage": 20}],
        }
        write_documents(folder, *(contract_for(worker) for worker in made), routes=route)
        with running(folder) as gateway:
            gateway.wait_verified(3)
            yield gateway, {worker.version: worker for worker in made}


def ask(
    gateway: GatewayProcess, path: str = "/generate", **headers: str
) -> tuple[int, dict[str, str], dict[str, object]]:
    status, answer, body = http(
        gateway.url + path,
        method="POST",
        body=b'{"text": "hi"}',
        headers={k.replace("_", "-"): v for k, v in headers.items()},
    )
    return status, answer, json.loads(body)


def test_a_thousand_pinned_requests_are_all_answered_by_that_version(fleet: Fleet) -> None:
    gateway, _ = fleet
    message = request("POST", "/generate", "X-Model-Preference: v2.4.0", body=b"{}")

    outcomes = asyncio.run(fetch_all(gateway.port, [message] * 1000))

    assert Counter(outcome.json["version"] for outcome in outcomes) == {"v2.4.0": 1000}
    assert {outcome.response.header("x-model-version") for outcome in outcomes if outcome.response} == {"v2.4.0"}


@pytest.mark.parametrize(
    ("headers", "version", "reason", "requested"),
    [
        pytest.param({"X_Model_Preference": "v2.4.0"}, "v2.4.0", "exact", "v2.4.0", id="exact"),
        pytest.param({"X_Model_Preference": "2.3.9"}, "v2.3.9", "exact", "2.3.9", id="exact-without-v"),
        pytest.param({"X_Model_Preference": "~2.4.0"}, "v2.4.1", "range", "~2.4.0", id="range"),
        pytest.param({"X_Model_Preference": "stable"}, "v2.3.9", "exact", "stable", id="alias"),
    ],
)
def test_the_selector_decides(fleet: Fleet, headers: dict[str, str], version: str, reason: str, requested: str) -> None:
    status, stamps, body = ask(fleet[0], **headers)

    assert (status, body["version"]) == (200, version)
    assert (stamps["x-model-version"], stamps["x-route-reason"], stamps["x-model-requested"]) == (
        version,
        reason,
        requested,
    )


def test_the_path_names_a_version_and_the_worker_sees_the_rest(fleet: Fleet) -> None:
    status, stamps, body = ask(fleet[0], "/v2.4.0/generate?x=%2F1")

    assert (status, body["version"], body["path"]) == (200, "v2.4.0", "/generate?x=%2F1")
    assert stamps["x-route-reason"] == "exact"


@pytest.mark.parametrize(
    ("path", "seen"),
    [
        pytest.param("/v1/chat/completions", "/v1/chat/completions", id="openai"),
        pytest.param("/v2/models/m/infer", "/v2/models/m/infer", id="open-inference"),
        pytest.param("/v2/models/m/versions/2.4.0/infer", "/v2/models/m/infer", id="open-inference-version"),
        pytest.param("/v1/models/m:predict", "/v1/models/m:predict", id="kserve"),
        pytest.param("/v2.4/generate", "/v2.4/generate", id="no-full-version"),
    ],
)
def test_names_of_apis_are_no_versions(fleet: Fleet, path: str, seen: str) -> None:
    status, _, body = ask(fleet[0], path)

    assert (status, body["path"]) == (200, seen)


def test_a_selector_in_the_body_is_taken_out_before_the_worker_sees_it(fleet: Fleet) -> None:
    gateway, made = fleet
    body = b'{"messages": [{"model": "m@v9.9.9"}], "model": "m@v2.3.9", "x": 1.50}'

    status, stamps, raw = http(gateway.url + "/v1/chat/completions", method="POST", body=body)

    assert (status, json.loads(raw)["version"], stamps["x-model-requested"]) == (200, "v2.3.9", "v2.3.9")
    assert made["v2.3.9"].seen[-1].body == b'{"messages": [{"model": "m@v9.9.9"}], "model": "m", "x": 1.50}'


@pytest.mark.parametrize(
    ("path", "headers", "body", "status", "code"),
    [
        pytest.param("/g", {"X-Model-Id": "nobody"}, b"{}", 404, "model_not_found", id="unknown-model"),
        pytest.param("/g", {"X-Model-Preference": "v9.9.9"}, b"{}", 404, "version_not_found", id="unknown-version"),
        pytest.param("/g", {"X-Model-Preference": "^9"}, b"{}", 404, "version_not_found", id="unknown-range"),
        pytest.param("/g", {"X-Model-Preference": "latest"}, b"{}", 404, "version_not_found", id="unknown-alias"),
        pytest.param("/g", {"X-Model-Preference": "1.2.3-01"}, b"{}", 400, "selector_invalid", id="malformed"),
        pytest.param("/g", {"X-Model-Preference": ""}, b"{}", 400, "selector_invalid", id="empty"),
        pytest.param("/v2.4.0/g", {"X-Model-Preference": "v2.4.1"}, b"{}", 400, "selector_conflict", id="disagree"),
        pytest.param(
            "/v1/x",
            {"X-Model-Preference": "v2.4.1"},
            b'{"model":"m@v2.4.0"}',
            400,
            "selector_conflict",
            id="body-disagrees",
        ),
        pytest.param("/g", {"X-Inference-DNA-Prefix": "xyz"}, b"{}", 400, "dna_prefix_invalid", id="bad-prefix"),
        pytest.param(
            "/g", {"X-Inference-DNA-Prefix": "0123456789"}, b"{}", 400, "dna_prefix_invalid", id="long-prefix"
        ),
        pytest.param("/g", {}, b'{"model": null}', 400, "bad_request", id="model-null"),
        pytest.param("/g", {}, b'{"model": 7}', 400, "bad_request", id="model-number"),
        pytest.param("/g", {}, b'{"model": ""}', 400, "model_required", id="model-empty"),
        pytest.param("/g", {}, b'{"model": "m", "model": "m"}', 400, "bad_request", id="model-twice"),
    ],
)
def test_what_cannot_be_routed_is_a_problem_document_with_the_request_id(
    fleet: Fleet, path: str, headers: dict[str, str], body: bytes, status: int, code: str
) -> None:
    gateway, _ = fleet

    got, answer, raw = http(gateway.url + path, method="POST", body=body, headers=headers | {"X-Request-ID": "my-id.1"})
    problem = json.loads(raw)

    assert (got, problem["code"], problem["status"]) == (status, code, status)
    assert answer["content-type"] == "application/problem+json"
    assert answer["x-request-id"] == problem["request_id"] == "my-id.1"
    assert "x-inference-dna" not in answer
    if code == "version_not_found" and headers["X-Model-Preference"] != "latest":
        assert set(VERSIONS) <= set(problem["available"])


def test_errors_speak_the_dialect_of_their_api(fleet: Fleet) -> None:
    gateway, _ = fleet
    openai = json.loads(http(gateway.url + "/v1/chat/completions", method="POST", body=b'{"model":"x"}')[2])
    triton = json.loads(http(gateway.url + "/v2/models/x/infer", method="POST", body=b"{}")[2])

    assert openai["error"]["code"] == openai["code"] == "model_not_found"
    assert openai["error"]["message"] == openai["detail"]
    assert isinstance(triton["error"], str)
    assert triton["code"] == "model_not_found"


def test_stamps_of_clients_and_workers_never_survive(fleet: Fleet) -> None:
    gateway, made = fleet
    worker = made["v2.4.0"]
    forged = {
        "X-Inference-DNA": "00" * 8, "X-Inference-Digest": "sha256:" + "0" * 64, "X-Inference-Input-Hash": "forged",
        "X-Model-Version": "v0.0.1", "X-Model-Requested": "forged", "X-Route-Reason": "forged",
        "X-Route-Attempts": "77", "X-Config-Generation": "777",
    }  # fmt: skip
    worker.extra_headers = [
        "X-Route-Reason: forged", "X-Config-Generation: 777", "X-Route-Attempts: 77", "X-Model-Requested: forged",
        "X-Request-ID: forged", "X_Route_Reason: forged",
    ]  # fmt: skip
    lines = [f"{name}: {value}" for name, value in forged.items()]
    under = [f"{name.replace('-', '_')}: {value}" for name, value in forged.items()]
    message = request(
        "POST", "/v2.4.0/g", *lines, *under, "Connection: X-Inference-Digest, X-Route-Reason", body=b"{}", close=True
    )

    answer = talk(gateway.port, [message], until=1).responses[0]
    worker.extra_headers = []

    assert answer.status == 200
    assert b"forged" not in answer.head
    assert b"777" not in answer.head
    for name in (*forged, "X-Request-ID", "X-Model-Id"):
        assert len(answer.headers(name)) <= 1, name
    assert answer.header("x-inference-dna") == worker.digests.dna()
    assert b"forged" not in worker.seen[-1].raw_head
    assert b"00000000" not in worker.seen[-1].raw_head


def test_a_body_over_the_limit_is_413(fleet: Fleet) -> None:
    gateway, made = fleet
    before = sum(len(worker.seen) for worker in made.values())
    head = b"POST /g HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n"

    answer = talk(gateway.port, [head], until=1).responses[0]

    problem = json.loads(answer.body)
    assert (answer.status, problem["code"]) == (413, "payload_too_large")
    assert answer.header("x-request-id") == problem["request_id"]
    assert sum(len(worker.seen) for worker in made.values()) == before


def test_canary_keys_stay_and_the_share_is_within_bounds(fleet: Fleet) -> None:
    gateway, _ = fleet
    messages = [request("POST", "/g", f"X-User-Id: user-{n}", body=b"{}") for n in range(1000)]

    first = asyncio.run(fetch_all(gateway.port, messages))
    second = asyncio.run(fetch_all(gateway.port, messages[:200]))

    canary = [outcome.json["version"] == "v2.3.9" for outcome in first]
    assert 138 <= sum(canary) <= 262  # five standard deviations of a binomial with n=1000, p=0.2
    assert [outcome.json["version"] == "v2.3.9" for outcome in second] == canary[:200]
    assert {o.response.header("x-route-reason") for o in first if o.response} == {"canary", "default"}


def test_a_dna_prefix_is_hard(fleet: Fleet) -> None:
    gateway, made = fleet
    dna = made["v2.4.1"].digests.dna()

    status, stamps, body = ask(gateway, X_Inference_DNA_Prefix=dna[:6])
    refused, _, problem = ask(gateway, "/v2.4.0/g", X_Inference_DNA_Prefix=dna[:6])

    assert (status, body["version"], stamps["x-route-reason"]) == (200, "v2.4.1", "dna")
    assert refused == 503
    assert "dna_prefix" in json.dumps(problem["rejected"])


def test_explain_says_what_a_request_would_get_without_sending_it(fleet: Fleet) -> None:
    gateway, made = fleet
    before = sum(len(worker.seen) for worker in made.values())

    status, answer = gateway.admin("/explain?model=m&preference=%5E2.4")

    assert status == 200
    assert answer["version"] == "v2.4.1"
    assert sum(len(worker.seen) for worker in made.values()) == before


def test_every_request_leaves_one_access_record(fleet: Fleet) -> None:
    gateway, made = fleet
    ask(gateway, "/v2.4.0/generate", X_Request_ID="record-me")
    gateway.wait_for(lambda: any(r.get("request_id") == "record-me" for r in gateway.records()), what="the record")

    (record,) = [r for r in gateway.records() if r.get("request_id") == "record-me"]

    assert record["dna"] == made["v2.4.0"].digests.dna()
    assert (record["model_id"], record["version"], record["route_reason"]) == ("m", "v2.4.0", "exact")
    assert (record["status"], record["attempts"], record["instance"]) == (200, 1, f"127.0.0.1:{made['v2.4.0'].port}")
    assert record["duration_ms"] >= 0
    assert {"input_hash", "gpu_name", "generation"} <= record.keys()
