from __future__ import annotations

import json
from pathlib import Path

import pytest

from inference_dna.assurance import Assurance
from inference_dna.canonical import Refused
from inference_dna.genome import parse_genome
from inference_dna.measure.healthz import Served, healthz_document, loading_document, stamps
from inference_dna.observation import Observation

DOCUMENT = json.loads((Path(__file__).parents[3] / "vectors" / "dna_vectors.json").read_text(encoding="utf-8"))
GENOME = parse_genome(next(vector["in"]["text"] for vector in DOCUMENT["vectors"] if vector["id"] == "genome-01"))
SERVED = Served("bert-base-chinese", "v2.4.0", Assurance.FULL_HASH)
INPUT = "2e67a18651ba3bd027223c28a82dbe1524caf7d5cb490771069a9b9fb1b8ee3f"


def test_the_body_is_the_one_of_dna_md_section_6() -> None:
    body = healthz_document(GENOME, SERVED, boot_id="7f0c", uptime_seconds=12345)

    assert list(body)[:12] == [
        "status", "dna", "digest", "model_id", "version", "model_fingerprint", "tokenizer_fingerprint",
        "postprocess_fingerprint", "hardware", "framework", "boot_id", "uptime_seconds",
    ]  # fmt: skip
    assert body["dna"] == "7cd8a0c1aa6a64d4"
    assert body["digest"] == "sha256:bc261cf54243739820d50076c61e398ddc56b9da0a9df74aed6b84bef8da7459"
    assert str(body["model_fingerprint"]).startswith("sha256:d707da8d")
    assert str(body["tokenizer_fingerprint"]).startswith("sha256:fdc2fae7")
    assert str(body["postprocess_fingerprint"]).startswith("sha256:ed1227e5")
    assert str(body["framework_fingerprint"]).startswith("sha256:3a6e376d")
    assert str(body["hardware_fingerprint"]).startswith("sha256:ae6450b2")
    assert body["hardware"] == GENOME.sections["hardware"]
    assert json.loads(json.dumps(body))["framework"]["evidence"]["python_full"] == "3.11.7"


def test_headers_and_body_of_one_worker_agree() -> None:
    body = json.dumps(healthz_document(GENOME, SERVED, boot_id="7f0c", uptime_seconds=1)).encode()

    observed = Observation.from_healthz(200, stamps(GENOME.digests, SERVED), body)

    assert observed == Observation.from_healthz(200, [], body)
    assert observed.status == "ok"
    assert observed.dna == GENOME.digests.dna()


def test_an_answer_carries_the_strand_of_its_input() -> None:
    stamped = dict(stamps(GENOME.digests, SERVED, input_hash=INPUT))

    assert stamped == {
        "x-inference-dna": "7cd8a0c11d886967",
        "x-inference-digest": "sha256:bc261cf54243739820d50076c61e398ddc56b9da0a9df74aed6b84bef8da7459",
        "x-inference-input-hash": INPUT,
        "x-model-id": "bert-base-chinese",
        "x-model-version": "v2.4.0",
        "x-inference-assurance": "full-hash",
    }


def test_an_answer_without_a_hashed_input_sends_no_input_hash() -> None:
    assert "x-inference-input-hash" not in dict(stamps(GENOME.digests, SERVED))


def test_a_shortened_input_hash_is_refused() -> None:
    with pytest.raises(Refused, match="no input hash"):
        stamps(GENOME.digests, SERVED, input_hash=INPUT[:12])


def test_a_worker_that_is_not_measured_states_no_identity() -> None:
    body = loading_document(SERVED, boot_id="7f0c", uptime_seconds=0, reason="The shard 2 cannot be read.")

    observed = Observation.from_healthz(503, [], json.dumps(body).encode())

    assert (observed.status, observed.dna, observed.digest) == ("loading", None, None)
    assert body["reason"] == "The shard 2 cannot be read."
