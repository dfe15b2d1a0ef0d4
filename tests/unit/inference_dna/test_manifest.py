from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from inference_dna.assurance import Assurance
from inference_dna.canonical import Refused, canonical, parse_json
from inference_dna.digest import hashed
from inference_dna.genome import parse_genome
from inference_dna.manifest import Subject, build_manifest, key_id, parse_manifest, signed_bytes

DOCUMENT = json.loads((Path(__file__).parents[2] / "vectors" / "dna_vectors.json").read_text(encoding="utf-8"))
TEXT = next(vector["in"]["text"] for vector in DOCUMENT["vectors"] if vector["id"] == "genome-03")
GENOME = json.loads(TEXT)
ARTIFACT = {name: value for name, value in GENOME.items() if name not in ("framework", "hardware")}
SUBJECT = Subject("bert-base-chinese", "v2.4.0")


def built(genome: dict[str, Any] = GENOME, subject: Subject | None = SUBJECT) -> dict[str, Any]:
    return build_manifest(genome, subject=subject, created_at="2025-01-31T12:00:00Z", assurance=Assurance.FULL_HASH)


def reread(changes: dict[str, Any], genome: dict[str, Any] = GENOME) -> None:
    """Read a built manifest with some members changed; a member set to `...` is left out."""
    document = built(genome) | changes
    parse_manifest(canonical({name: value for name, value in document.items() if value is not ...}))


def test_what_was_built_reads_back() -> None:
    manifest = parse_manifest(json.dumps(built()))
    digests = parse_genome(TEXT).digests

    assert manifest.subject == SUBJECT
    assert manifest.assurance is Assurance.FULL_HASH
    assert manifest.created_at == "2025-01-31T12:00:00Z"
    assert manifest.digests["runtime"] == digests.runtime
    assert manifest.dna == digests.dna()
    assert (manifest.unmeasured, manifest.signatures) == ((), ())
    assert manifest.genome == GENOME


def test_a_manifest_of_the_artifact_alone_has_no_stack_no_runtime_and_no_dna() -> None:
    document = built(ARTIFACT)
    manifest = parse_manifest(canonical(document).encode())

    assert document["unmeasured"] == ["framework", "hardware"]
    assert list(manifest.digests) == ["weights", "tokenizer", "postprocess", "artifact"]
    assert manifest.digests["artifact"] == parse_genome(TEXT).digests.artifact
    assert manifest.dna is None
    assert "dna" not in document


def test_a_model_that_cannot_be_named_has_a_null_subject() -> None:
    assert parse_manifest(canonical(built(subject=None))).subject is None


def test_what_is_signed_is_everything_but_the_signatures() -> None:
    document = built()
    signature = {"alg": "ed25519", "kid": "0011223344556677", "sig": "AA"}

    signed = signed_bytes(document)

    assert signed.startswith(b'inference-dna/1/manifest\n{"assurance":"full-hash",')
    assert signed_bytes(document | {"signatures": [signature]}) == signed
    assert signed_bytes(parse_json(json.dumps(document))) == signed  # type: ignore[arg-type]  # an object, as built
    assert signed_bytes(document | {"subject": None}) != signed
    assert parse_manifest(canonical(document | {"signatures": [signature]})).signatures == (signature,)


def test_a_key_is_named_by_the_hash_of_its_raw_bytes() -> None:
    assert key_id(bytes(32)) == hashed("key", bytes(32))[:16]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        pytest.param({"kind": "genome"}, "no manifest", id="other-kind"),
        pytest.param({"format": "inference-dna/2"}, "no manifest", id="other-format"),
        pytest.param({"assurance": ...}, r"lacks \['assurance'\]", id="member-missing"),
        pytest.param({"note": "x"}, r"unknown members \['note'\]", id="member-unknown"),
        pytest.param({"genome": []}, "must be an object", id="genome-no-object"),
        pytest.param({"genome": ARTIFACT}, "no section", id="genome-lost-its-stack"),
        pytest.param({"digests": {}}, "digests do not follow", id="no-digests"),
        pytest.param({"dna": "7cd8a0c1aa6a64d4"}, "DNA does not follow", id="other-dna"),
        pytest.param({"dna": ...}, "DNA does not follow", id="no-dna"),
        pytest.param({"unmeasured": ["hardware"]}, "must name framework and hardware", id="half-a-stack-unmeasured"),
        pytest.param({"unmeasured": ["framework", "hardware"]}, "the artifact alone", id="measured-and-unmeasured"),
        pytest.param({"subject": "m"}, "subject must be", id="subject-is-text"),
        pytest.param({"subject": {"model_id": "m"}}, "subject must be", id="subject-without-a-version"),
        pytest.param({"subject": {"model_id": "", "version": "v1.0.0"}}, "`model_id`", id="empty-model-id"),
        pytest.param({"created_at": 7}, "`created_at`", id="time-is-a-number"),
        pytest.param({"assurance": "certain"}, "must be one of declared", id="unknown-assurance"),
        pytest.param({"assurance": None}, "`assurance`", id="assurance-null"),
        pytest.param({"signatures": {}}, "list of objects", id="signatures-no-list"),
        pytest.param({"signatures": ["AA"]}, "list of objects", id="signature-is-text"),
    ],
)
def test_manifests_that_are_refused(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(Refused, match=why):
        reread(changes)


def test_a_changed_weight_file_is_noticed() -> None:
    document = json.loads(canonical(built()))
    document["genome"]["weights"]["files"][0]["size"] += 1

    with pytest.raises(Refused, match="do not follow"):
        parse_manifest(json.dumps(document))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        pytest.param({"genome": ARTIFACT | {"format": "inference-dna/2"}}, "not known", id="other-format"),
        pytest.param({"genome": {"format": "inference-dna/1"}}, "the artifact alone", id="section-missing"),
        pytest.param({"dna": "7cd8a0c1aa6a64d4"}, "DNA does not follow", id="dna-without-a-stack"),
    ],
)
def test_artifact_manifests_that_are_refused(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(Refused, match=why):
        reread(changes, ARTIFACT)


def test_a_genome_with_half_a_stack_is_not_built() -> None:
    half = {name: value for name, value in GENOME.items() if name != "hardware"}

    with pytest.raises(Refused, match="the artifact alone"):
        built(half)


@pytest.mark.parametrize("text", ["[]", "null", "{", '{"format":1,"format":1}'])
def test_text_that_is_no_manifest_is_refused(text: str) -> None:
    with pytest.raises(Refused):
        parse_manifest(text)
