from __future__ import annotations

import json
from typing import Any

import pytest

from inference_dna.digest import parse_digest
from inference_dna.dna import is_dna
from inference_dna.observation import NO_ANSWER, Observation

DNA, OTHER_DNA = "7cd8a0c1aa6a64d4", "05f38cc080274c5e"
DIGEST = "sha256:bc261cf54243739820d50076c61e398ddc56b9da0a9df74aed6b84bef8da7459"
OTHER_DIGEST = "sha256:4859b3de5cbcd1d2a1be91c59360218af0061d08e3bb07171ff94db643576a7d"

HEADERS = [("X-Inference-DNA", DNA), ("X-Inference-Digest", DIGEST)]
BODY: dict[str, Any] = {
    "status": "ok",
    "dna": DNA,
    "digest": DIGEST,
    "model_id": "bert-base-chinese",
    "version": "v2.4.0",
    "hardware": {"accelerators": [], "cuda": None},
    "boot_id": "7f0c",
    "assurance": "full-hash",
    "format": "inference-dna/1",
}


def probed(http: int = 200, headers: list[tuple[str, str]] = HEADERS, **changes: Any) -> Observation:
    """A probe whose body has some members changed; a member set to `...` is left out."""
    body = {name: value for name, value in (BODY | changes).items() if value is not ...}
    return Observation.from_healthz(http, headers, json.dumps(body).encode())


def test_a_response_states_what_its_headers_say() -> None:
    sent = [
        ("Content-Type", "application/json"),
        ("X-INFERENCE-DNA", DNA),
        ("x-inference-digest", DIGEST),
        ("X-Inference-Input-Hash", "2e67a18651ba"),
        ("X-Model-Id", "m"),
        ("X-Model-Version", "2.4.0"),
        ("X-Inference-Assurance", "stat-cached"),
        ("X-Inference-Format", "inference-dna/1"),
    ]

    assert Observation.from_headers(201, sent, dna_required=False) == Observation(
        http=201,
        format="inference-dna/1",
        dna=DNA,
        digest=DIGEST,
        input_hash="2e67a18651ba",
        model_id="m",
        version="2.4.0",
        assurance="stat-cached",
        dna_required=False,
    )


def test_a_response_without_our_headers_states_nothing() -> None:
    assert Observation.from_headers(200, iter([("Server", "x")]), dna_required=True) == Observation(http=200)


@pytest.mark.parametrize("values", [(DNA, DNA), (DNA, OTHER_DNA), (DNA, ""), (DNA, DNA, DNA)])
def test_a_name_sent_twice_is_malformed_even_with_equal_values(values: tuple[str, ...]) -> None:
    observed = Observation.from_headers(200, [("X-Inference-DNA", value) for value in values], dna_required=True)

    assert observed.dna == ", ".join(values)
    assert not is_dna(observed.dna)


def test_an_empty_value_is_not_an_absent_one() -> None:
    assert Observation.from_headers(200, [("X-Inference-DNA", "")], dna_required=True).dna == ""


def test_no_answer_states_nothing() -> None:
    assert Observation(http=None) == NO_ANSWER


def test_a_probe_joins_headers_and_body() -> None:
    assert probed() == Observation(
        http=200,
        status="ok",
        format="inference-dna/1",
        dna=DNA,
        digest=DIGEST,
        model_id="bert-base-chinese",
        version="v2.4.0",
        assurance="full-hash",
        hardware={"accelerators": [], "cuda": None},
        boot_id="7f0c",
    )


def test_either_side_may_speak_alone() -> None:
    assert probed(headers=[]) == probed()
    assert probed(dna=..., digest=None).dna == DNA
    assert probed(dna=..., digest=None).digest == DIGEST


def test_a_head_answer_has_headers_only() -> None:
    assert Observation.from_healthz(200, HEADERS, b"") == Observation(http=200, dna=DNA, digest=DIGEST)


@pytest.mark.parametrize(
    ("member", "header", "value"),
    [
        pytest.param("dna", "X-Inference-DNA", OTHER_DNA, id="dna"),
        pytest.param("digest", "X-Inference-Digest", OTHER_DIGEST, id="digest"),
        pytest.param("model_id", "X-Model-Id", "other", id="model"),
        pytest.param("version", "X-Model-Version", "v2.4.1", id="version"),
        pytest.param("assurance", "X-Inference-Assurance", "attested", id="assurance"),
        pytest.param("format", "X-Inference-Format", "inference-dna/2", id="format"),
    ],
)
def test_headers_and_body_that_contradict_each_other_are_malformed(member: str, header: str, value: str) -> None:
    observed = probed(headers=[(header, value)])

    assert getattr(observed, member) == f"{value}, {BODY[member]}"


def test_the_leading_v_is_no_contradiction() -> None:
    assert probed(headers=[("X-Model-Version", "2.4.0")]).version == "2.4.0"
    assert probed(headers=[("X-Model-Version", "2.4.0+b1")]).version == "2.4.0+b1, v2.4.0"
    assert probed(headers=[("X-Model-Version", "2.4.0")], version=...).version == "2.4.0"


@pytest.mark.parametrize("value", [1234567890123456, True, ["7cd8a0c1aa6a64d4"], {}])
def test_a_member_that_is_no_text_is_malformed_not_absent(value: Any) -> None:
    observed = probed(headers=[], dna=value, digest=value)

    assert observed.dna is not None
    assert not is_dna(observed.dna)
    with pytest.raises(ValueError, match="no digest"):
        parse_digest(observed.digest or "")


@pytest.mark.parametrize(
    ("http", "status", "observed"),
    [
        pytest.param(200, "ok", "ok", id="ok"),
        pytest.param(200, "loading", "loading", id="loading-under-200"),
        pytest.param(503, "loading", "loading", id="loading-under-503"),
        pytest.param(200, ..., "", id="missing-is-not-ok"),
        pytest.param(404, ..., "", id="missing-on-a-page-not-found"),
        pytest.param(500, ..., None, id="an-error-page-is-no-health-report"),
        pytest.param(200, None, "", id="null-is-not-ok"),
        pytest.param(200, True, "not a text", id="true-is-not-ok"),
    ],
)
def test_the_status_is_the_body_s_own_word(http: int, status: Any, observed: str | None) -> None:
    assert probed(http, status=status).status == observed


@pytest.mark.parametrize(
    "body", [b"OK", b"<html>", b"[]", b'"ok"', b'{"status":"ok","status":"ok"}', b"\xff", b'{"a":NaN}', b"[" * 100_000]
)
def test_a_body_that_cannot_be_read_is_never_taken_for_an_absent_one(body: bytes) -> None:
    observed = Observation.from_healthz(200, HEADERS, body)

    assert observed.dna is not None
    assert not is_dna(observed.dna)
    assert observed.status is None


@pytest.mark.parametrize("hardware", [None, "NVIDIA L4", [], ...])
def test_hardware_that_is_no_section_is_not_stated(hardware: Any) -> None:
    assert probed(hardware=hardware).hardware is None
