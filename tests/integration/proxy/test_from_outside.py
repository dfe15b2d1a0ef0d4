"""Faults seen from outside, each with its right behaviour: overload, ejected streams, names that leak."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.support.gateway_process import http, running, write_documents
from tests.support.load import crowd
from tests.support.raw import parse_responses, request, talk
from tests.support.stub_worker import StubWorker, Turn, contract_for, workers


def event(text: str) -> bytes:
    data = f"data: {text}\n\n".encode()
    return b"%x\r\n%b\r\n" % (len(data), data)


def test_200_clients_of_one_slow_worker_wait_their_turn_and_none_is_turned_away(tmp_path: Path) -> None:
    with StubWorker(seed="a", delay_s=0.3) as worker:
        write_documents(tmp_path, contract_for(worker))
        with running(tmp_path, probe_interval=30) as gateway:
            gateway.wait_verified(1)
            ask = request("POST", "/g", body=b"{}")
            outcomes = asyncio.run(crowd(gateway.port, lambda: ask, clients=200, meanwhile=lambda: time.sleep(3)))

    assert Counter(outcome.status for outcome in outcomes).keys() == {200}


def test_a_stream_ends_as_failed_when_its_instance_is_ejected(tmp_path: Path) -> None:
    async def streams(turn: Turn) -> None:
        await turn.write(turn.worker.head(200, "text/event-stream"))
        for number in range(100):
            await turn.write(event(f"{turn.worker.seed} {number}"))
            await asyncio.sleep(0.05)
        await turn.write(b"0\r\n\r\n")

    with StubWorker(seed="a", handler=streams) as worker:
        write_documents(tmp_path, contract_for(worker))
        with running(tmp_path, probe_interval=0.3) as gateway:
            gateway.wait_verified(1)
            with socket.create_connection(("127.0.0.1", gateway.port), timeout=10) as sock:
                sock.sendall(request("POST", "/generate_stream", "X-Request-ID: cut", body=b"{}"))
                data = sock.recv(65536)
                worker.seed = "drifted"
                while piece := sock.recv(65536):
                    data += piece
            gateway.wait_for(lambda: any(r.get("request_id") == "cut" for r in gateway.records()), what="the record")
            (record,) = [r for r in gateway.records() if r.get("request_id") == "cut"]

    (answer,) = parse_responses(data, closed=True)
    assert not answer.complete
    assert b"identity_changed" in answer.body
    assert record["code"] == "identity_changed"


@pytest.mark.parametrize("name", ["m@" + "z" * 100_000, "z" * 100_000])
def test_long_names_stay_out_of_heads_and_logs(tmp_path: Path, name: str) -> None:
    with StubWorker(seed="a") as worker:
        write_documents(tmp_path, contract_for(worker))
        with running(tmp_path) as gateway:
            gateway.wait_verified(1)
            body = json.dumps({"model": name}).encode()
            (answer,) = talk(gateway.port, [request("POST", "/v1/x", body=body)], until=1).responses
            gateway.wait_for(lambda: any(r["event"] == "request" for r in gateway.records()), what="the record")
            longest = max(map(len, gateway.log().splitlines()))

    assert answer.status == 400
    assert len(answer.head) < 2000
    assert len(answer.body) < 2000
    assert longest < 4000


@pytest.mark.parametrize(
    "path", ["/healthz", "/v1.0.0/healthz", "/v1.0.0/healthz?x=1", "/%68ealthz", "//healthz", "/healthz/"]
)
def test_clients_never_reach_a_workers_health_page(tmp_path: Path, path: str) -> None:
    with StubWorker(seed="a") as worker:
        write_documents(tmp_path, contract_for(worker))
        with running(tmp_path, probe_interval=30) as gateway:
            gateway.wait_verified(1)
            probes = worker.probes
            status, _, body = http(gateway.url + path)

    assert (status, json.loads(body)["code"]) == (404, "path_not_found")
    assert worker.probes == probes


def test_dates_and_successors_are_the_contracts_to_say(tmp_path: Path) -> None:
    life = {"deprecated_at": "2026-01-01", "sunset_at": "2027-03-31", "successor": "v2.0.0"}
    forged = ["Deprecation: @1", "Sunset: never", 'Link: <evil>; rel="successor-version"', 'Link: <a>; rel="next"']
    with StubWorker(seed="a", extra_headers=forged) as worker:
        write_documents(tmp_path, contract_for(worker, **life))
        with running(tmp_path) as gateway:
            gateway.wait_verified(1)
            asked = request("POST", "/g", "Deprecation: evil", "Sunset: evil", "Link: evil", body=b"{}")
            (answer,) = talk(gateway.port, [asked], until=1).responses

    assert b"evil" not in worker.seen[-1].raw_head
    assert answer.headers("deprecation") == ["@1767225600"]
    assert answer.headers("sunset") == ["Wed, 31 Mar 2027 00:00:00 GMT"]
    assert answer.headers("link") == ['<a>; rel="next"', '</v1/models/m@v2.0.0>; rel="successor-version"']


def test_answers_after_sigterm_say_that_the_connection_ends(tmp_path: Path) -> None:
    with StubWorker(seed="a", delay_s=1.0) as worker:
        write_documents(tmp_path, contract_for(worker))
        with running(tmp_path) as gateway, socket.create_connection(("127.0.0.1", gateway.port), timeout=10) as sock:
            gateway.wait_verified(1)
            sock.sendall(request("POST", "/g", body=b"{}"))
            deadline = time.monotonic() + 5
            while not worker.seen:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            assert gateway.process is not None
            gateway.process.send_signal(signal.SIGTERM)
            data = b""
            while piece := sock.recv(65536):
                data += piece
            code = gateway.stop()

    (answer,) = parse_responses(data, closed=True)
    assert (answer.status, answer.complete, answer.header("connection")) == (200, True, "close")
    assert code == 0


def test_a_worker_that_stamps_wrongly_is_counted_and_told_once(tmp_path: Path) -> None:
    with StubWorker(seed="a") as worker:
        wrong = StubWorker(seed="b").digests.dna()
        worker.healthz = None
        write_documents(tmp_path, contract_for(worker))
        with running(tmp_path, probe_interval=30) as gateway:
            gateway.wait_verified(1)

            async def mislabelled(turn: Turn) -> None:
                lines = [f"X-Inference-DNA: {wrong}", f"X-Inference-Digest: sha256:{worker.digests.runtime}"]
                head = "\r\n".join(["HTTP/1.1 200 OK", "Content-Length: 2", *lines])
                await turn.write(head.encode() + b"\r\n\r\n{}")

            worker.handler = mislabelled
            statuses = [http(gateway.url + "/g", method="POST", body=b"{}")[0] for _ in range(3)]
            metrics = gateway.admin("/metrics")[1]
            gateway.wait_for(lambda: any(r["event"] == "instance_noted" for r in gateway.records()), what="the event")
            told = [r for r in gateway.records() if r["event"] == "instance_noted"]

    assert statuses == [200, 200, 200]
    assert 'gateway_identity_notes_total{model="m",note="label_disagrees",version="v1.0.0"} 3.0' in metrics
    assert [r["reason"] for r in told] == ["label disagrees"]


def test_observing_ejects_nobody_and_says_so(tmp_path: Path) -> None:
    with StubWorker(seed="drifted") as worker:
        accepted = StubWorker(seed="a").accepted()
        write_documents(tmp_path, contract_for(worker, enforcement="observe", dna=[accepted]))
        with running(tmp_path, probe_interval=0.3) as gateway:
            gateway.wait_for(lambda: http(gateway.url + "/g", method="POST", body=b"{}")[0] == 200, what="an answer")
            (instance,) = gateway.status()["instances"]
            metrics = gateway.admin("/metrics")[1]

    assert (instance["identity"], instance["ready"]) == ("unverified", True)
    assert instance["reason"] == "observed only: digest differs"
    assert 'identity="ejected",liveness="up",model="m",version="v1.0.0"} 0.0' in metrics


def test_a_process_whose_probes_match_and_whose_answers_do_not_comes_back_ever_later(tmp_path: Path) -> None:
    async def drifted_answer(turn: Turn) -> None:
        head = turn.worker.head(200, "application/json", framing="Content-Length: 2").decode("latin-1")
        runtime = turn.worker.digests.runtime
        await turn.write(head.replace(runtime, "0" * 64).encode("latin-1") + b"{}")

    with workers(StubWorker(seed="a", handler=drifted_answer)) as (worker,):
        write_documents(tmp_path, contract_for(worker))
        with running(tmp_path, probe_interval=0.2) as gateway:
            gateway.wait_verified(1)
            began = time.monotonic()
            statuses: Counter[int] = Counter()
            while time.monotonic() - began < 6:
                statuses[http(gateway.url + "/g", method="POST", body=b"{}")[0]] += 1
                time.sleep(0.02)

    # Once a probe, thirty requests would have been lost; doubling what a return takes leaves about six.
    assert 2 <= statuses[502] <= 8
    assert statuses[200] == 0


@pytest.mark.parametrize("edit", ["removed", "retired", "emptied"])
def test_a_request_whose_version_leaves_while_its_worker_fails_is_answered(tmp_path: Path, edit: str) -> None:
    async def breaks_off(turn: Turn) -> None:
        await asyncio.sleep(2)
        turn.close = True

    with StubWorker(seed="a", handler=breaks_off) as worker:
        document = contract_for(worker)
        write_documents(tmp_path, document)
        with running(tmp_path, probe_interval=30) as gateway:
            gateway.wait_verified(1)
            with socket.create_connection(("127.0.0.1", gateway.port), timeout=10) as sock:
                sock.sendall(request("POST", "/g", body=b"{}", close=True))
                wait_for_request(worker)
                if edit == "removed":
                    (tmp_path / "contracts" / "m" / "v1.0.0.json").unlink()
                else:
                    change: dict[str, object] = {"status": "retired"} if edit == "retired" else {"instances": []}
                    write_documents(tmp_path, document | change)
                data = b""
                while piece := sock.recv(65536):
                    data += piece

    (answer,) = parse_responses(data, closed=True)
    assert (answer.status, json.loads(answer.body)["code"]) == (502, "upstream_reset")


def wait_for_request(worker: StubWorker) -> None:
    deadline = time.monotonic() + 5
    while not worker.seen:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_dna_prefix_holds_for_the_answer_itself(tmp_path: Path) -> None:
    other = StubWorker(seed="b")
    with StubWorker(seed="a") as worker:
        write_documents(tmp_path, contract_for(worker, dna=[worker.accepted(), other.accepted()]))
        with running(tmp_path, probe_interval=60) as gateway:
            gateway.wait_verified(1)
            prefix = {"X-Inference-DNA-Prefix": worker.digests.dna()[:8]}
            statuses, shown = [], []
            for seed in ("a", "a", "b", "b", "a", "b"):
                worker.seed = seed
                statuses.append(http(gateway.url + "/g", method="POST", body=b"{}")[0])
                shown.append((gateway.status()["instances"][0]["dna"] or "")[:8])
            worker.seed = "b"
            asked = [http(gateway.url + "/g", method="POST", body=b"{}", headers=prefix) for _ in range(5)]
            worker.seed = "a"
            http(gateway.url + "/g", method="POST", body=b"{}")
            worker.seed = "b"
            flipped = http(gateway.url + "/g", method="POST", body=b"{}", headers=prefix)

    a, b = worker_dna("a"), worker_dna("b")
    assert statuses == [200] * 6
    assert shown == [a, a, b, b, a, b]
    assert {status for status, _, _ in asked} <= {502, 503}
    assert flipped[0] == 502


def worker_dna(seed: str) -> str:
    return StubWorker(seed=seed).digests.dna()[:8]
