from __future__ import annotations

import json

from bench import identity
from bench.work import ANSWER_BYTES, EVENT_BYTES, REQUEST_BYTES, answer_body, event, request_body, request_message
from inference_dna.dna import strand


def test_sizes_are_those_of_the_method() -> None:
    assert (len(request_body()), len(answer_body()), len(event())) == (REQUEST_BYTES, ANSWER_BYTES, EVENT_BYTES)


def test_what_is_sent_is_what_the_routers_read() -> None:
    assert json.loads(request_body("m-7")) | {"messages": []} == {"model": "m-7", "messages": []}
    assert json.loads(request_body(stream=True))["stream"] is True
    assert json.loads(answer_body())["choices"][0]["finish_reason"] == "stop"
    assert event().endswith(b"\n\n")
    assert "content" in json.loads(event().removeprefix(b"data: "))["choices"][0]["delta"]


def test_a_request_states_its_length() -> None:
    head, _, body = request_message(b'{"a":1}').partition(b"\r\n\r\n")

    assert head.endswith(b"Content-Length: 7")
    assert body == b'{"a":1}'


def test_the_upstream_claims_one_consistent_identity() -> None:
    accepted, answer, healthz = identity.accepted(), identity.answer_headers(), identity.healthz_headers()
    document = json.loads(identity.healthz_body())

    assert answer["X-Inference-Digest"] == accepted["digest"] == document["digest"]
    assert healthz["X-Inference-DNA"] == accepted["dna"] == document["dna"]
    assert answer["X-Inference-DNA"][8:] == strand(identity.DIGESTS.runtime, answer["X-Inference-Input-Hash"])
