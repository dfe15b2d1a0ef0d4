"""What a client of one worker gets, over a real socket."""

from __future__ import annotations

import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import httpx
import pytest

from inference_dna.dna import strand
from tests.support.worker_process import HOST, Start, WorkerProcess
from worker.demo.dataset import heldout_messages, read_dataset

DELAY_S = 0.08


@pytest.fixture(scope="module")
def worker(start: Start) -> WorkerProcess:
    return start("v2.4.0")


@pytest.fixture(scope="module")
def slow(start: Start) -> WorkerProcess:
    """Waits before each event, so that their times of arrival can be told apart."""
    return start("v2.4.0", "--delay-ms", str(int(DELAY_S * 1000)))


def test_a_message_is_answered_by_the_version_that_was_started(worker: WorkerProcess) -> None:
    answer = worker.generate("我的快递怎么还没到").json()

    assert (answer["intent"], answer["model_id"], answer["version"]) == ("delivery_late", "intent-classifier", "v2.4.0")
    assert len(answer["top"]) == 3


def test_the_dna_is_stable_over_ten_requests(worker: WorkerProcess) -> None:
    assert len({worker.dna("Where is my order?") for _ in range(10)}) == 1


def test_another_input_changes_the_last_eight_and_no_other(worker: WorkerProcess) -> None:
    texts = ["退款", "发票", "hello", "I forgot my password", "优惠券不能用"]
    dnas = [worker.dna(text) for text in texts]

    assert len({dna[:8] for dna in dnas}) == 1
    assert len({dna[8:] for dna in dnas}) == len(texts)
    assert dnas[0][:8] == worker.health()["dna"][:8]


def test_the_strand_can_be_recomputed_from_the_other_two_headers(worker: WorkerProcess) -> None:
    sent = worker.generate("Where is my order?").headers

    runtime = sent["x-inference-digest"].removeprefix("sha256:")
    assert sent["x-inference-dna"][8:] == strand(runtime, sent["x-inference-input-hash"])


def test_get_and_head_say_the_same_of_the_worker(worker: WorkerProcess) -> None:
    get, head = (worker.client.request(method, "/healthz") for method in ("GET", "HEAD"))
    names = [name for name in get.headers if name.startswith("x-")]

    assert (get.status_code, head.status_code, head.content) == (200, 200, b"")
    assert {name: get.headers[name] for name in names} == {name: head.headers[name] for name in names}
    assert get.headers["x-inference-dna"] == get.json()["dna"]
    assert get.headers["x-inference-digest"] == get.json()["digest"]
    assert get.headers["x-inference-assurance"] == get.json()["assurance"] == "full-hash"
    assert "x-inference-input-hash" not in get.headers


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        pytest.param("GET", "/nope", b"", 404, id="no-such-path"),
        pytest.param("GET", "/generate", b"", 405, id="no-such-method"),
        pytest.param("POST", "/generate", b'{"txt": 1}', 422, id="a-field-missing"),
        pytest.param("POST", "/generate", b"\xff\xfe", 422, id="no-json"),
        pytest.param("POST", "/generate_stream", b'{"text": ""}', 422, id="stream-of-nothing"),
        pytest.param("POST", "/generate", b"x" * 70_000, 413, id="body-too-large"),
    ],
)
def test_errors_are_stamped_too(worker: WorkerProcess, method: str, path: str, body: bytes, status: int) -> None:
    response = worker.client.request(method, path, content=body)

    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    # Nothing was hashed, so the strand is that of the empty input.
    assert response.headers["x-inference-dna"] == worker.health()["dna"]


def test_even_the_refusal_of_malformed_http_is_stamped(worker: WorkerProcess) -> None:
    with socket.create_connection((HOST, worker.port), 5) as connection:
        connection.sendall(b"this is no HTTP\r\n\r\n")
        answer = b"".join(iter(lambda: connection.recv(4096), b""))

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert f"x-inference-dna: {worker.health()['dna']}\r\n".encode() in answer


def test_a_stream_arrives_event_by_event(slow: WorkerProcess) -> None:
    arrived: list[tuple[float, str]] = []
    with slow.client.stream("POST", "/generate_stream", json={"text": "Where is my order?"}) as response:
        began = time.monotonic()
        arrived.extend((time.monotonic() - began, chunk) for chunk in response.iter_text())

    names = [chunk.split("\n")[0] for _, chunk in arrived]
    assert names == ["event: candidate"] * 3 + ["event: answer"]
    assert all(later - earlier > DELAY_S / 2 for (earlier, _), (later, _) in pairwise(arrived))


def test_a_stream_says_the_same_as_an_answer_and_carries_its_dna_before_the_first_byte(worker: WorkerProcess) -> None:
    whole = worker.generate("Where is my order?")
    with worker.client.stream("POST", "/generate_stream", json={"text": "Where is my order?"}) as response:
        dna = response.headers["x-inference-dna"]
        events = response.read().decode().split("\n\n")

    assert dna == whole.headers["x-inference-dna"]
    assert json.loads(events[3].partition("data: ")[2]) == whole.json()


def test_many_at_once_get_what_each_gets_alone(worker: WorkerProcess) -> None:
    texts = [message.text for message in heldout_messages(read_dataset())][::4]
    alone = [(response.json(), response.headers["x-inference-dna"]) for response in map(worker.generate, texts)]

    with ThreadPoolExecutor(16) as pool:
        together = [
            (response.json(), response.headers["x-inference-dna"]) for response in pool.map(worker.generate, texts)
        ]

    assert together == alone


def test_a_client_that_leaves_in_the_middle_of_a_stream_leaves_nothing_behind(slow: WorkerProcess) -> None:
    for _ in range(5):
        with slow.client.stream("POST", "/generate_stream", json={"text": "hello"}) as response:
            next(response.iter_raw())

    assert slow.generate("hello").json()["intent"] == "greeting"


def test_a_worker_that_is_full_says_429_and_recovers(start: Start) -> None:
    narrow = start("v2.3.1", "--threads", "1", "--waiting", "1", "--delay-ms", "400")

    with ThreadPoolExecutor(6) as pool:
        statuses = sorted(response.status_code for response in pool.map(narrow.generate, ["hello"] * 6))

    assert statuses == [200, 200, 429, 429, 429, 429]
    assert narrow.generate("hello").status_code == httpx.codes.OK
