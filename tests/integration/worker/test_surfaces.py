"""What clients of each family get from a language model, over real sockets. The model continues the alphabet."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from inference_dna.assurance import Assurance
from inference_dna.inputs import hash_tokens
from inference_dna.measure.healthz import Served
from inference_dna.middleware import InferenceDNA
from inference_dna.serving.receipt import ReceiptKey
from inference_dna.serving.receipt_check import Answer, Outcome, check_receipt
from inference_dna.serving.standing import Standing
from inference_dna.trust.keys import read_public_key
from inference_dna.trust.pem import new_key_pair
from tests.support.alphabet import LAST, Alphabet, Gate
from tests.support.stamped_server import Lines, serving
from tests.support.standing import DIGESTS, GENOME
from worker.app import build_app
from worker.backend import IsolationBroken
from worker.lane import Lane
from worker.lifecycle import Loaded
from worker.surface.inference_protocol import LIVE
from worker.surface.surroundings import Surroundings

MODEL = "letters"
PRIVATE, PUBLIC = new_key_pair()
SOON_S = 10
LETTERS = 20
"""Of an answer that clients leave somewhere within."""
NOTICED_S = 0.3
"""By then the server has heard that a connection is closed, also where tests share processors."""
CHAT = {"model": MODEL, "messages": [{"role": "user", "content": "say"}]}
FAMILIES: dict[str, dict[str, Any]] = {
    "/generate": {"text": "a"},
    "/v1/chat/completions": CHAT,
    "/v1/completions": {"model": MODEL, "prompt": "a"},
    f"/v2/models/{MODEL}/generate": {"text_input": "a"},
}
STREAMS: dict[str, dict[str, Any]] = {
    "/generate_stream": {"text": "a"},
    "/v1/chat/completions": {**CHAT, "stream": True},
    "/v1/completions": {"model": MODEL, "prompt": "a", "stream": True},
    f"/v2/models/{MODEL}/generate_stream": {"text_input": "a"},
}
Serve = Callable[..., AbstractContextManager[httpx.Client]]


@contextmanager
def served(backend: Alphabet, *, threads: int = 2, waiting: int = 8, **further: Any) -> Iterator[httpx.Client]:
    """A client of a worker that is ready."""
    standing = Standing(Served(MODEL, "v1.0.0", Assurance.FULL_HASH))
    standing.measured(GENOME)
    standing.ready()
    lane = Lane(threads=threads, waiting=waiting)
    around = Surroundings(standing, lambda: Loaded(GENOME, text=backend), lane, **further)
    with serving(stamped(around)) as client:
        yield client
    lane.close()


def stamped(around: Surroundings) -> InferenceDNA:
    key = ReceiptKey(PRIVATE)
    return InferenceDNA(build_app(around), around.standing, receipts=key, always=(LIVE,), write=Lines())


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with served(Alphabet()) as made:
        yield made


def checked(response: httpx.Response, body: bytes) -> Outcome:
    """What the receipt of an answer proves."""
    answer = Answer(dict(response.headers.items()), body, response.status_code)
    return check_receipt(answer, [read_public_key(PUBLIC)], now=datetime.now(UTC)).outcome


def messages_of(body: str) -> list[Any]:
    """The data of each event of a stream, decoded where it is JSON."""
    lines = [line.removeprefix("data: ") for line in body.splitlines() if line.startswith("data: ")]
    return [json.loads(line) if line.startswith("{") else line for line in lines]


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SOON_S
    while not is_so():
        assert time.monotonic() < deadline, "it did not become so"
        time.sleep(0.005)


# Answers --------------------------------------------------------------------------------------------------------------


def test_generate_continues_the_text(client: httpx.Client) -> None:
    answer = client.post("/generate", json={"text": "xa", "max_new_tokens": 3})

    assert answer.json() == {
        "text": "bcd",
        "finish_reason": "length",
        "usage": {"prompt_tokens": 2, "completion_tokens": 3},
        "model_id": MODEL,
        "version": "v1.0.0",
    }


def test_generate_stream_is_tokens_and_then_the_whole(client: httpx.Client) -> None:
    *tokens, whole = messages_of(client.post("/generate_stream", json={"text": "x"}).text)

    assert [token["text"] for token in tokens] == ["y", "z"]
    assert (whole["text"], whole["finish_reason"]) == ("yz", "stop")


def test_chat_is_answered_in_openais_form(client: httpx.Client) -> None:
    answer = client.post("/v1/chat/completions", json=CHAT).json()

    assert answer["choices"][0]["message"]["content"] == "bcde"
    assert answer["usage"] == {"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14}
    assert (answer["model"], answer["system_fingerprint"]) == (MODEL, f"fp_{DIGESTS.runtime[:12]}")


def test_a_chat_stream_says_the_same_as_an_answer(client: httpx.Client) -> None:
    asking = {**CHAT, "stream": True, "stream_options": {"include_usage": True}}
    *chunks, counted, mark = messages_of(client.post("/v1/chat/completions", json=asking).text)

    assert mark == "[DONE]"
    assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks) == "bcde"
    assert chunks[-1]["choices"][0]["finish_reason"] == "length"
    assert counted["usage"] == {"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14}
    assert len({chunk["id"] for chunk in [*chunks, counted]}) == 1


def test_a_seed_draws_the_same_letters_and_another_one_others(client: httpx.Client) -> None:
    def text(seed: int) -> str:
        asking = {"model": MODEL, "prompt": "a", "temperature": 1.0, "max_tokens": 12, "seed": seed}
        written: str = client.post("/v1/completions", json=asking).json()["choices"][0]["text"]
        return written

    assert text(7) == text(7) != text(8)


def test_infer_takes_a_tensor_and_gives_one(client: httpx.Client) -> None:
    tensor = {"name": "text", "datatype": "BYTES", "shape": [1], "data": ["a"]}
    asking = {"id": "7", "inputs": [tensor], "parameters": {"max_new_tokens": 2}}
    answer = client.post(f"/v2/models/{MODEL}/versions/1.0.0/infer", json=asking).json()

    assert (answer["model_name"], answer["model_version"], answer["id"]) == (MODEL, "v1.0.0", "7")
    assert answer["outputs"][0]["data"] == ["bc"]


def test_infer_takes_the_text_as_bytes_behind_the_json(client: httpx.Client) -> None:
    element = b"\x01\0\0\0a"
    tensor = {"name": "text", "datatype": "BYTES", "shape": [1], "parameters": {"binary_data_size": len(element)}}
    document = json.dumps(
        {"inputs": [tensor], "parameters": {"binary_data_output": True, "max_new_tokens": 2}}
    ).encode()
    headers = {"Inference-Header-Content-Length": str(len(document))}
    answer = client.post(f"/v2/models/{MODEL}/infer", content=document + element, headers=headers)

    assert answer.json()["outputs"][0]["data"] == ["bc"]
    assert answer.headers["x-inference-dna"] == DIGESTS.dna(hash_tokens([(ord("a"),)]))


def test_tritons_generate_gives_text(client: httpx.Client) -> None:
    answer = client.post(f"/v2/models/{MODEL}/generate", json={"text_input": "a", "parameters": {"max_new_tokens": 1}})
    *pieces, last = messages_of(client.post(f"/v2/models/{MODEL}/generate_stream", json={"text_input": "x"}).text)

    assert answer.json()["text_output"] == "b"
    assert [piece["text_output"] for piece in pieces] == ["y", "z"]
    assert last["finish_reason"] == "stop"


@pytest.mark.parametrize(
    ("path", "members"),
    [
        pytest.param("/v1/models", {"object": "list"}, id="openai-models"),
        pytest.param(f"/v1/models/{MODEL}", {"id": MODEL, "object": "model", "version": "v1.0.0"}, id="openai-model"),
        pytest.param("/v2", {"version": "2"}, id="server"),
        pytest.param("/v2/health/ready", {"ready": True}, id="ready"),
        pytest.param("/v2/health/live", {"live": True}, id="live"),
        pytest.param(f"/v2/models/{MODEL}", {"name": MODEL, "versions": ["v1.0.0"]}, id="model"),
        pytest.param(f"/v2/models/{MODEL}/versions/v1.0.0", {"name": MODEL}, id="model-of-a-version"),
        pytest.param(f"/v2/models/{MODEL}/ready", {"ready": True}, id="model-ready"),
        pytest.param(f"/v2/models/{MODEL}/versions/1.0.0/ready", {"ready": True}, id="version-ready"),
    ],
)
def test_a_model_can_be_looked_up(client: httpx.Client, path: str, members: dict[str, Any]) -> None:
    answer = client.get(path)

    assert answer.status_code == 200
    assert answer.json().items() >= members.items()
    assert answer.headers["x-inference-dna"] == DIGESTS.dna()


@pytest.mark.parametrize("path", ["/v1/models", f"/v1/models/{MODEL}", "/v2", f"/v2/models/{MODEL}", LIVE])
def test_the_head_of_what_can_be_looked_up_is_that_of_the_answer(client: httpx.Client, path: str) -> None:
    head, whole = client.head(path), client.get(path)

    assert (head.status_code, head.content) == (200, b"")
    assert (head.headers["content-length"], head.headers["x-inference-dna"]) == (
        str(len(whole.content)), whole.headers["x-inference-dna"],
    )  # fmt: skip


def test_a_path_with_a_slash_too_many_is_not_found_and_leads_nowhere(client: httpx.Client) -> None:
    answer = client.post("/v1/chat/completions/", json=CHAT)

    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


# Stamps ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", FAMILIES)
def test_an_answer_is_stamped_with_its_tokens_and_signed(client: httpx.Client, path: str) -> None:
    answer = client.post(path, json=FAMILIES[path])
    prompt = "user:say\na" if "chat" in path else "a"

    assert answer.headers["x-inference-dna"] == DIGESTS.dna(hash_tokens([tuple(map(ord, prompt))]))
    assert checked(answer, answer.content) is Outcome.VALID


@pytest.mark.parametrize("path", STREAMS)
def test_a_stream_is_stamped_before_its_first_byte_and_signed_at_its_end(client: httpx.Client, path: str) -> None:
    with client.stream("POST", path, json=STREAMS[path]) as answer:
        dna = answer.headers["x-inference-dna"]
        body = answer.read()

    prompt = "user:say\na" if "chat" in path else "a"
    assert dna == DIGESTS.dna(hash_tokens([tuple(map(ord, prompt))]))
    assert body.splitlines()[-1].startswith(b": dna-receipt ")
    assert checked(answer, body) is Outcome.VALID


# Errors ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "change", "field"),
    [
        pytest.param("/generate", {"temperature": 9}, "temperature", id="generate-range"),
        pytest.param("/generate", {"max_length": 9}, "max_length", id="generate-unknown"),
        pytest.param("/generate", {"text": ""}, "text", id="generate-empty"),
        pytest.param("/generate", {"text": "a" * 64}, "text", id="generate-too-long"),
        pytest.param("/generate", {"model": "other"}, "model", id="generate-another-model"),
        pytest.param("/v1/chat/completions", {"max_tokens": 0}, "max_tokens", id="chat-range"),
        pytest.param(
            "/v1/chat/completions", {"max_completion_tokens": 0}, "max_completion_tokens", id="chat-range-newer-name"
        ),
        pytest.param("/v1/chat/completions", {"tools": [{"type": "function"}]}, "tools", id="chat-tools"),
        pytest.param("/v1/chat/completions", {"n": 2}, "n", id="chat-two-answers"),
        pytest.param("/v1/completions", {"logprobs": 1}, "logprobs", id="completions-logprobs"),
        pytest.param("/v1/completions", {"top_p": 0}, "top_p", id="completions-range"),
        pytest.param(
            f"/v2/models/{MODEL}/generate", {"parameters": {"seed": 0.5}}, "parameters.seed", id="triton-wrong-type"
        ),
        pytest.param(f"/v2/models/{MODEL}/generate", {"parameters": {"x": 1}}, "parameters.x", id="triton-unknown"),
    ],
)
def test_a_wrong_setting_is_422_and_names_the_field(
    client: httpx.Client, path: str, change: dict[str, Any], field: str
) -> None:
    answer = client.post(path, json={**FAMILIES[path], **change})
    problem = answer.json()

    assert (answer.status_code, problem["code"]) == (422, "invalid_request")
    assert answer.headers["content-type"] == "application/problem+json"
    assert [fault["field"] for fault in problem["errors"]] == [field]
    if path.startswith("/v1/"):
        assert problem["error"]["param"] == field
        assert problem["error"]["type"] == "invalid_request_error"
    assert isinstance(problem.get("error", ""), str if not path.startswith("/v1/") else dict)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        pytest.param("/v2/models/other/infer", "model_not_found", id="another-model"),
        pytest.param(f"/v2/models/{MODEL}/versions/2.0.0/infer", "version_not_found", id="another-version"),
        pytest.param(f"/v2/models/{MODEL}/versions/latest/infer", "version_not_found", id="no-version"),
    ],
)
def test_what_the_path_names_must_be_there(client: httpx.Client, path: str, code: str) -> None:
    answer = client.post(path, json={})

    assert (answer.status_code, answer.json()["code"]) == (404, code)
    assert answer.json()["error"].startswith(f"{code}: ")


def test_a_model_that_openai_clients_name_wrongly_is_not_found(client: httpx.Client) -> None:
    answer = client.post("/v1/chat/completions", json={**CHAT, "model": "gpt"})

    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "model_not_found")
    assert client.get("/v1/models/gpt").status_code == 404


def test_a_body_that_is_too_large_is_413(client: httpx.Client) -> None:
    answer = client.post("/v1/completions", content=b'{"prompt": "' + b"x" * 2**20)

    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "body_too_large")


def test_a_model_without_a_chat_template_says_so() -> None:
    with served(Alphabet(has_chat=False)) as client:
        answer = client.post("/v1/chat/completions", json=CHAT)

    assert (answer.status_code, answer.json()["error"]["param"]) == (422, "messages")


@pytest.mark.parametrize("path", FAMILIES)
def test_while_it_loads_a_worker_says_so_in_the_clients_words(path: str) -> None:
    standing = Standing(Served(MODEL, "v1.0.0", Assurance.FULL_HASH))
    standing.changed("The weights are being read.")
    with serving(stamped(Surroundings(standing, lambda: None, Lane(threads=1, waiting=0)))) as client:
        answer, live = client.post(path, json=FAMILIES[path]), client.get(LIVE)

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert "The weights are being read." in str(answer.json().get("error", answer.json()["detail"]))
    assert "x-inference-dna" not in answer.headers
    assert live.status_code == 200


# Whoever leaves -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", STREAMS)
def test_a_client_that_leaves_a_stream_ends_the_generation_within_one_token(path: str) -> None:
    gate = Gate()
    backend = Alphabet(before_token=gate)
    with served(backend, threads=1, waiting=0) as client:
        gate.let(2)
        with client.stream("POST", path, json=STREAMS[path]) as answer:
            pieces = answer.iter_raw()
            while b'"c"' not in next(pieces):
                pass
            until(lambda: gate.arrived == 3)
        # The third token is being computed; what was begun is finished, and no more.
        time.sleep(NOTICED_S)
        gate.let(1)
        until(lambda: bool(backend.ended))
        gate.let(10)

        assert (backend.ended[0].reason, backend.computed) == ("cancelled", [0, 1, 2])
        assert client.post("/generate", json={"text": "a"}).status_code == 200


@pytest.mark.parametrize("path", FAMILIES)
def test_a_client_that_leaves_before_its_answer_ends_the_generation_too(path: str) -> None:
    gate = Gate()
    backend = Alphabet(before_token=gate)
    with served(backend, threads=1, waiting=0) as client:
        gate.let(1)
        with pytest.raises(httpx.ReadTimeout):
            client.post(path, json=FAMILIES[path], timeout=0.3)
        until(lambda: gate.arrived == 2)
        time.sleep(NOTICED_S)
        gate.let(1)
        until(lambda: bool(backend.ended))
        gate.let(10)

        assert (backend.ended[0].reason, backend.computed) == ("cancelled", [0, 1])
        assert client.post("/generate", json={"text": "a"}).status_code == 200


def test_a_client_that_leaves_the_queue_gives_its_place_back() -> None:
    gate = Gate()
    backend = Alphabet(before_token=gate)
    with served(backend, threads=1, waiting=1) as client:
        gate.let(1)
        with client.stream("POST", "/generate_stream", json={"text": "a"}) as first:
            pieces = first.iter_raw()  # held, for dropping it would close the connection
            next(pieces)
            for _ in range(3):
                until(lambda: _has_waited_and_left(client))
            gate.let(20)
            answer = b"".join(pieces)
        last = client.post("/generate", json={"text": "a"})

    assert b"event: answer" in answer
    assert last.status_code == 200
    # Those that left were never begun.
    assert [ended.reason for ended in backend.ended] == ["length", "length"]


def _has_waited_and_left(client: httpx.Client) -> bool:
    """Ask and leave; a request that was refused did not wait."""
    try:
        client.post("/generate", json={"text": "a"}, timeout=0.2)
    except httpx.ReadTimeout:
        return True
    return False


def test_a_client_that_takes_nothing_is_treated_as_one_that_left() -> None:
    backend = Alphabet(context=4096)
    # Each event repeats the id, so that the buffers between here and there are full soon.
    asking = {"id": "x" * 60_000, "text_input": "a", "parameters": {"max_new_tokens": 4000, "temperature": 1.0}}
    with (
        served(backend, threads=1, waiting=0, stalled_s=0.2) as client,
        client.stream("POST", f"/v2/models/{MODEL}/generate_stream", json=asking),
    ):
        until(lambda: bool(backend.ended))

    assert backend.ended[0].reason == "cancelled"


def test_a_hundred_clients_that_leave_at_random_moments_take_no_place_with_them_and_mix_no_answers() -> None:
    backend = Alphabet(before_token=lambda _number: time.sleep(0.001), context=4096)
    dice = random.Random(5)
    plans = [(place, dice.random() * 0.15, dice.choice(list(STREAMS))) for place in range(100)]

    with served(backend, threads=2, waiting=30) as client:

        def ask(plan: tuple[int, float, str]) -> bool:
            """Ask for an answer that is known from its seed and leave after a while; gives whether it was right."""
            seed, patience_s, path = plan
            settings: dict[str, Any] = {"temperature": 1.0, "seed": seed}
            if path.startswith("/v2"):
                asking = {**STREAMS[path], "parameters": {**settings, "max_new_tokens": LETTERS}}
            else:
                length = "max_tokens" if path.startswith("/v1") else "max_new_tokens"
                asking = {**STREAMS[path], **settings, length: LETTERS}
            said, deadline = "", time.monotonic() + patience_s
            with client.stream("POST", path, json=asking) as answer:
                if answer.status_code == httpx.codes.TOO_MANY_REQUESTS:
                    return True
                for line in answer.iter_lines():
                    said += _said(line)
                    if time.monotonic() > deadline:
                        break
            return drawn(seed, LETTERS).startswith(said)

        with ThreadPoolExecutor(40) as pool:
            assert all(pool.map(ask, plans))

        # Every place is there again: as many as there are, asked at once, are all answered.
        with ThreadPoolExecutor(32) as pool:
            asked = [pool.submit(client.post, "/generate", json={"text": "a"}) for _ in range(32)]
            until(lambda: all(answer.done() for answer in asked))

    assert {answer.result().status_code for answer in asked} == {200}
    assert {answer.result().json()["text"] for answer in asked} == {"bcde"}
    assert {ended.reason for ended in backend.ended} == {"cancelled", "length"}


def drawn(seed: int, letters: int) -> str:
    """What the alphabet draws by a seed."""
    draws = random.Random(seed)
    return "".join(chr(draws.randint(ord("a"), LAST - 1)) for _ in range(letters))


def _said(line: str) -> str:
    """The text in one line of a stream of any family; the whole at the end of ours is not counted."""
    if not line.startswith("data: {"):
        return ""
    piece = json.loads(line.removeprefix("data: "))
    if "choices" in piece:
        return piece["choices"][0].get("text") or piece["choices"][0].get("delta", {}).get("content") or ""
    return piece.get("text_output") or (piece["text"] if "id" in piece else "")


# Load -----------------------------------------------------------------------------------------------------------------


def test_health_is_answered_while_a_generation_runs_and_the_rest_is_429() -> None:
    gate = Gate()
    backend = Alphabet(before_token=gate)
    with served(backend, threads=1, waiting=0) as client:
        gate.let(1)
        with client.stream("POST", "/generate_stream", json={"text": "a"}) as answer:
            pieces = answer.iter_raw()  # held, for dropping it would close the connection
            next(pieces)
            health = client.get("/healthz")
            full = {path: client.post(path, json=asking) for path, asking in FAMILIES.items()}
            gate.let(10)

    assert health.json()["status"] == "ok"
    assert {answer.status_code for answer in full.values()} == {429}
    assert {answer.headers["retry-after"] for answer in full.values()} == {"1"}
    assert full["/v1/completions"].json()["error"]["type"] == "rate_limit_error"
    assert full["/generate"].headers["x-inference-dna"] == DIGESTS.dna()


# What fails -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", STREAMS)
def test_a_stream_that_fails_looks_failed(path: str) -> None:
    def fail(number: int) -> None:
        if number == 2:
            raise RuntimeError("out of memory")

    pieces: list[bytes] = []
    with (
        served(Alphabet(before_token=fail)) as client,
        client.stream("POST", path, json=STREAMS[path]) as answer,
        pytest.raises(httpx.RemoteProtocolError, match="incomplete"),
    ):
        pieces.extend(answer.iter_raw())

    body = b"".join(pieces)
    error = messages_of(body.decode())[-1]
    assert b'"c"' in body
    assert "The worker failed on this request." in str(error)
    assert b"[DONE]" not in body
    assert b"dna-receipt" not in body
    assert b"memory" not in body


@pytest.mark.parametrize("path", STREAMS)
def test_what_fails_before_the_first_token_has_a_status_of_its_own(path: str) -> None:
    def fail(_number: int) -> None:
        raise IsolationBroken("model.generation_config.temperature", "was 1.0 and is 0.7")

    with served(Alphabet(before_token=fail)) as client:
        answer = client.post(path, json=STREAMS[path])

    assert (answer.status_code, answer.json()["code"]) == (500, "isolation_broken")
    assert answer.json()["errors"][0]["field"] == "model.generation_config.temperature"
