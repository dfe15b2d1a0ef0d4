from __future__ import annotations

import json
from http import HTTPStatus

import pytest

from inference_dna.canonical import Refused
from inference_dna.inputs import hash_tokens
from inference_dna.serving.receipt import ReceiptKey
from inference_dna.serving.receipt_check import Answer, Expected, Outcome, check_receipt
from inference_dna.serving.stamp import Exchanged, health_answer, stamp, usable_nonce, usable_request_id
from inference_dna.trust.keys import read_public_key
from inference_dna.trust.pem import new_key_pair
from tests.support.standing import DIGESTS, ready_standing
from tests.unit.inference_dna.trust.test_signing import NOW

INPUT = hash_tokens([[1, 2, 3]])


def test_an_answer_carries_identity_input_and_request_id() -> None:
    lines: list[str] = []
    stamped = stamp(ready_standing(), input_hash=INPUT, request_id="r-1", write=lines.append)

    assert dict(stamped.headers) == {
        "x-inference-dna": DIGESTS.dna(INPUT),
        "x-inference-digest": f"sha256:{DIGESTS.runtime}",
        "x-inference-input-hash": INPUT,
        "x-inference-assurance": "full-hash",
        "x-model-id": "bert-base-chinese",
        "x-model-version": "v2.4.0",
        "x-request-id": "r-1",
    }


def test_the_log_line_says_the_same_as_the_headers() -> None:
    lines: list[str] = []
    stamped = stamp(ready_standing(), input_hash=INPUT, request_id="r-1", write=lines.append, temperature=0.7)
    (line,) = (json.loads(line) for line in lines)

    assert line["event"] == "INFERENCE_DNA"
    assert (line["dna"], line["digest"]) == (dict(stamped.headers)["x-inference-dna"], f"sha256:{DIGESTS.runtime}")
    assert (line["model_id"], line["version"], line["request_id"]) == ("bert-base-chinese", "v2.4.0", "r-1")
    assert (line["input_hash"], line["gpu_name"]) == (INPUT, "NVIDIA A100-SXM4-40GB")
    assert line["temperature"] == 0.7
    assert line["ts"].endswith("Z")


def test_the_line_goes_to_standard_output_where_nobody_else_wants_it(capsys: pytest.CaptureFixture[str]) -> None:
    stamp(ready_standing())

    assert json.loads(capsys.readouterr().out)["input_hash"] == ""


def test_a_worker_that_is_not_ready_stamps_nothing() -> None:
    standing = ready_standing()
    standing.changed("Weights were loaded.")

    with pytest.raises(Refused, match=r"not ready\. Weights were loaded"):
        stamp(standing)


def test_a_stamp_knows_when_it_is_no_longer_true() -> None:
    standing = ready_standing()
    stamped = stamp(standing, write=lambda _line: None)

    assert stamped.is_current
    standing.changed("Weights were loaded.")
    assert not stamped.is_current


def test_twelve_hex_are_no_input_hash() -> None:
    with pytest.raises(Refused):
        stamp(ready_standing(), input_hash=INPUT[:12])


@pytest.mark.parametrize("sent", ["a", "A-1_b.c", "x" * 128])
def test_a_good_request_id_is_kept(sent: str) -> None:
    assert usable_request_id(sent) == sent


@pytest.mark.parametrize("sent", [None, "", "x" * 129, "a b", "a\n", "ä", "a;b"])
def test_a_bad_request_id_is_replaced(sent: str | None) -> None:
    made = usable_request_id(sent)

    assert len(made) == 32
    assert made != usable_request_id(sent)


@pytest.mark.parametrize(("sent", "kept"), [("n-1", "n-1"), (None, ""), ("", ""), ("a b", ""), ("x" * 129, "")])
def test_nonces(sent: str | None, kept: str) -> None:
    assert usable_nonce(sent) == kept


def test_a_receipt_for_a_request_that_is_at_hand() -> None:
    private, public = new_key_pair()
    stamped = stamp(ready_standing(), input_hash=INPUT, write=lambda _line: None)
    exchanged = Exchanged.of("POST", "/generate", b"question", b"answer", nonce="n-1")
    receipt = stamped.receipt(ReceiptKey(private), exchanged)
    answer = Answer({**dict(stamped.headers), "x-inference-receipt": receipt}, b"answer", 200)

    found = check_receipt(answer, [read_public_key(public)], now=NOW, expected=Expected(b"question", "n-1"))
    assert found.outcome is Outcome.VALID


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_health_has_the_same_head_for_both_methods(method: str) -> None:
    status, headers, body = health_answer(ready_standing(), method)

    assert status is HTTPStatus.OK
    assert dict(headers)["x-inference-dna"] == DIGESTS.dna()
    assert int(dict(headers)["content-length"]) > 500
    assert bool(body) is (method == "GET")


def test_other_methods_are_not_allowed() -> None:
    assert health_answer(ready_standing(), "POST")[0] is HTTPStatus.METHOD_NOT_ALLOWED
